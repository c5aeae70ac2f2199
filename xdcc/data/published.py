"""The published data sets: addresses and digests of their files.

Most data sets are from the repository of Mulan; image and langlog are from that of BOOMER, and
slashdot from that of a course. Each address names a commit, and the digests of bytes are those of
the files at this commit.

The digest of the content of a data set (:func:`content_digest`) does not depend on line ends or
comments in a copy of a file; :data:`CONTENT` has those of the published files.
"""

import hashlib
import json

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from xdcc.data.dataset import MultiLabelDataset


def content_digest(dataset: MultiLabelDataset) -> str:
    """Compute the SHA-256 of the content of a data set, without `name` and `dropped`.

    Examples
    --------
    >>> from xdcc.data import load_dataset
    >>> digits = load_dataset("digits")
    >>> content_digest(digits) == content_digest(digits[:])
    True
    >>> content_digest(digits) == content_digest(digits[::-1])
    False
    """
    names = [dataset.feature_names, dataset.categories, dataset.label_names]
    arrays: list[NDArray[np.generic]] = [dataset.Y]
    X = dataset.X
    if isinstance(X, sparse.csr_array):
        rows = X.sorted_indices()
        arrays += [rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data]
    else:
        arrays.append(X)
    if dataset.sample_weight is not None:
        arrays.append(dataset.sample_weight)
    digest = hashlib.sha256(json.dumps([X.shape, *names]).encode())
    for array in arrays:
        little_endian = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        digest.update(little_endian.data)
    return digest.hexdigest()


CONTENT: dict[str, str] = {
    "emotions-train.arff": "2bc2219493b8a1a21c6536009196b81c088539dd7c4dbc95cff33c5a6fc2708a",
    "emotions-test.arff": "a0942217c324a7e47d6dab766db784d715f8350a917f11cd9baf4e4f298a5e43",
    "flags-train.arff": "ef804c0770ef27942c1f3464454580ccc4c007234af73eb5d05d5c2ee22e12a6",
    "flags-test.arff": "aa48b3a142ec2cb8eb86aceaff03fa92ea70be7f51913957d276dd77d7b47210",
    "scene-train.arff": "dcd561b5c5a7b499fa002bf52d698c668cc33d9c41b2c428101c5ed215ed3467",
    "scene-test.arff": "e2270e21cbfd140c5365dc5851d63aa258dfe52323764d6fad4c24b9fe1ed391",
    "yeast-train.arff": "58aeaad3061efdf23048b19579f2b7025b513a62a3180ec3f009703ce851e5e6",
    "yeast-test.arff": "7e983e0363b7fa82442e1d5a1a915719916c6a18a57c6e65dd7ab2ec0e87e6c2",
    "birds-train.arff": "787c51756730def2bddc3fabd1249dcf97ca4a1fd78b83e59875fb96e89fe20f",
    "birds-test.arff": "3df4c2c4af6485077ee799a63bd887947828d36f3a18226e419a91439b19f189",
    "tmc2007-500-train.arff": "a7589229618f68e3b8e84c8cdd85e6ab63804adb106a09240d6f48e83f84d838",
    "tmc2007-500-test.arff": "46b9b04863b0916e6489540c2af7f09c30e4baa3ecf7d4dec6f95e5b2ebb334a",
    "genbase-train.arff": "600cd4b2b340996228b737dde23d89451bbd2fb27d4be7b30fa93ed9fa0f2b2f",
    "genbase-test.arff": "76f812fb90db82ca1a5c27cdc1748353273f2c4f53bf94f1646399513ee2f48d",
    "medical-train.arff": "28eca7710603ce861995aa971b7df6d01719a6e49ce543f4d35ebe2fabbad4f6",
    "medical-test.arff": "94fd1683909513e089a0fed25b00e4e596c4038d45415905d68000eab0152819",
    "enron-train.arff": "364b0a27f9b06feda28a8afebec6a68d1e56dcea659608493f5410d3aa3d86f8",
    "enron-test.arff": "0c036cdd1e036aed11c59866980909595b2a5c743313ef414fc65a94ff28d6ac",
    "bibtex-train.arff": "caa4f8cba0a6110a423f710627e86c0d1f1f43c87281e0c206506f402633e38d",
    "bibtex-test.arff": "d183c28068a49505c7de8cba35b3dddbf63110e409faf47e05814e9a40213719",
    "cal500.arff": "6bfca69ad1953e816c15a5349de807d8adcba31aefa8f00a6d164731a5a3a0fd",
    "corel5k-train.arff": "6cb89051e97475e7ad131d2418d7ae02fcad3ac26d12946f92e977da4db02e5f",
    "corel5k-test.arff": "a5d0ad90efe0be0833d359285c578ebdb9a6dec64e12a389a312d474d8ac146d",
    "delicious-train.arff": "ba8e59e4d13e51d3060c9e03365ab06aec431d9978761fde66053950b69d2292",
    "delicious-test.arff": "dcac019498a34cd73ce216dec362804cf47b1859d63b5803180f9ae065af46a3",
    "slashdot.arff": "6ee9af6f15dadd2a3b6c9210f21e5896f2546c484fb45df345143689b8156c85",
    "langlog.arff": "629b897c0855517c93e04393a3ac7d1464dcdd55e8ca2f2c0afce19d1c8eaec2",
    "image-train.arff": "ff7a3d7b32dd349ae2622deaa17c12fd21b7ab7e0b614243402bf6a6893f62b2",
    "image-test.arff": "69a83e4323e4ce1121b3ff15c380a0b9b7ae6aa6af47c541f3a8f41714068eda",
    "rcv1-subset1.arff": "181963e7cca5e520548d58e21aad15f27b011572b0d108306c99da247b16d864",
}
"""The `content_digest` of each file, without identifiers of rows."""


_GITHUB = "https://raw.githubusercontent.com"
_MULAN = f"{_GITHUB}/tsoumakas/mulan/43f6389095ad71984264db4387a8074b22bc7d4a/data/multi-label"
_BOOMER = f"{_GITHUB}/mrapp-ke/Boomer/0d40528605f419c1a44360e8b7f41444e643b509/data"  # tag 0.6.2
_COURSE = f"{_GITHUB}/lehneres/edu.uni-tuebingen/3faf6f0c5b4cbfbbe048b4d59fbeafde5ae39195/data"

_NAMED_AS_IN_MULAN = (
    "emotions",
    "flags",
    "scene",
    "yeast",
    "birds",
    "genbase",
    "medical",
    "enron",
    "bibtex",
    "delicious",
)

URLS: dict[str, str] = {
    **{
        f"{name}{ending}": f"{_MULAN}/{name}/{name}{ending}"
        for name in _NAMED_AS_IN_MULAN
        for ending in ("-train.arff", "-test.arff", ".xml")
    },
    "tmc2007-500-train.arff": f"{_MULAN}/tmc2007/tmc2007-500-train.arff",
    "tmc2007-500-test.arff": f"{_MULAN}/tmc2007/tmc2007-500-test.arff",
    "tmc2007-500.xml": f"{_MULAN}/tmc2007/tmc2007-500.xml",
    "cal500.arff": f"{_MULAN}/cal500/cal500.arff",
    "cal500.xml": f"{_MULAN}/cal500/cal500.xml",
    "corel5k-train.arff": f"{_MULAN}/corel5k/Corel5k-train-sparse.arff",
    "corel5k-test.arff": f"{_MULAN}/corel5k/Corel5k-test-sparse.arff",
    "corel5k.xml": f"{_MULAN}/corel5k/Corel5k.xml",
    "slashdot.arff": f"{_COURSE}/SLASHDOT-F.arff",
    "langlog.arff": f"{_BOOMER}/llog.arff",
    "langlog.xml": f"{_BOOMER}/llog.xml",
    "image-train.arff": f"{_BOOMER}/image-train.arff",
    "image-test.arff": f"{_BOOMER}/image-test.arff",
    "image.xml": f"{_BOOMER}/image.xml",
}
"""The address of each file, by its local name."""

SHA256: dict[str, str] = {
    "emotions-train.arff": "bbe704106c79bb8fb99c1d1d2e9bde081d6a2daeb01f100862f11fd91a3c1f98",
    "emotions-test.arff": "f13d4b746b7b5c8eb484bd751d6ac463d4560dff998a93516a5c1fe35daf6c8f",
    "emotions.xml": "dbce8e6ccbbb2fcbfd9e9edbb230d7ed12692c6e13f59fdbc0161fa9b6cf2dc0",
    "flags-train.arff": "1861cdab7f8baf1aef6fb6198f304465ddfd99b7f9a435337c604119522df3c5",
    "flags-test.arff": "09f6136fae47dcc2f0f491efd6401a11072cbfb0bfbb2666c63b35bb06aeeb16",
    "flags.xml": "7c9ed21a91b716b91f811323e20ee5a260ea2da62a5edcfeb1b91ec855a48f17",
    "scene-train.arff": "b53ba93bdf412de922e3960389bcee24744fa3e872ce610511fc1d750888b64d",
    "scene-test.arff": "ea38d20296b3ff7e220f477a3b802a9bcb2d768881fe6ee163efbc97ea527a42",
    "scene.xml": "55d8b247b949ad5c52e5a73d8c6775ec6e5469ce9682465b45b333b68ee4bcc5",
    "yeast-train.arff": "e759dc991ff54694a4ff9c4314f3be0d6fd2b1994a4b563f57e416394c6aebbd",
    "yeast-test.arff": "4aaac102bff9669a765bf0b378602e5cc8c3b181048282e2f003117b496d552a",
    "yeast.xml": "c3056cc26444b5158b1588d1b73bec9c45429e10f0957ad085903423cb81f247",
    "birds-train.arff": "8f215db6ee163149901e753977f631ba8bea0e0e8e1abc42b234414822f8ae36",
    "birds-test.arff": "51ba6326d65ccdd7c755b6461280eb6d2769c7f59d8e12fd4250f91e6ca28326",
    "birds.xml": "0f4ea547b2b3d538c8402662daf689e0d4520cc8b4f5ba113c2e7c01700f010f",
    "tmc2007-500-train.arff": "edfe7b7615c6f80e54c92a214437610d1ae36560c5cc6c4253b51c434d258273",
    "tmc2007-500-test.arff": "b24f9c3f1eba77c9da0bbaff093ba41d331b7351be0167a8e1e3852c62e25e38",
    "tmc2007-500.xml": "cb6a67c8ae72fd9b47d89f77aa5b7f6cafb4ba9c20b1124c65a95a3f2caec38d",
    "genbase-train.arff": "37670db2c2b308a1c163d05501819526f1d65d659638ddfb76812d4ce384b5c6",
    "genbase-test.arff": "0e988520bedab39aa3f23f08f646c769bcdb6f9119ee298fd92b37127b226a36",
    "genbase.xml": "198e8a1d7070e9603119e02e626cedc589db7577339b307b06f5192047b69eb9",
    "medical-train.arff": "c764f45756ab1c553b8b4eaaf5605a5610a43bbbcf37492d0f1a12bf9c9e2244",
    "medical-test.arff": "6be472e75a6c0b0916187f343a398011b1b26f8f0ddc682c575312ad3532f6c4",
    "medical.xml": "51fa9d5c09e48caff3f0a0c75db1c9aa85944f8e35451f3ad8bd56fc422286ce",
    "enron-train.arff": "2988cefc1cdf7a8004a20ef84615cc8fa1b5d7434c16687283b41454e2d9d194",
    "enron-test.arff": "2f3aad54a8f54caaab4ab01246fe9dd385ba944a2633028f52747b57eac5474e",
    "enron.xml": "ed40c92d7f613eed51714912cab10dddc4ce456262137d8fef230d44c7f4457b",
    "bibtex-train.arff": "8dcc9de6e0b2cebaec8c1f4fac78431adeeb73cfd3ab879b530a66d366e59174",
    "bibtex-test.arff": "9b03329cde64d3f994bdf7fbbac3f3b10fe185c311cb9ae725475f59c7f3f922",
    "bibtex.xml": "08fe20013c1e75dcf1888c185f5187c95e76495b8518ce289b4d3afce38d1232",
    "cal500.arff": "cfe6097ba5fd6e8584e54911ab9783dcab34e898446b7c9370c71d477eae56d3",
    "cal500.xml": "877e128531268d7661faa3e44f7bb43cbcda829c0895e49879168775b192728c",
    "corel5k-train.arff": "19eb253c447144bea74ffa86b4731a56022addae2ba7d0aab72ad07fdc02e9b3",
    "corel5k-test.arff": "e8f8e9cd052c43ba7bdfdf99d242f461fc8c2a03163466d921e576887b51d8a7",
    "corel5k.xml": "54ef6a6ccb7ca9b77524052b34b306d5d501661a5609b9d1cc7085b2b597679d",
    "delicious-train.arff": "030186cdb542ebdd32052fcdbb1ebe30115b3a22518c1b4b198c45eb827aebe1",
    "delicious-test.arff": "2dfb01723a819914b0ca83361177ed413ce3f2169851d9f228d4692915d63944",
    "delicious.xml": "4e0c0f93c7d86a39b9fca4aaefaa00e9428f2c80277732dfbf03ca48e2c14da2",
    "slashdot.arff": "35c7b933211fc39c623252f2289de1460f588265a3df8be2c97f3090708476eb",
    "langlog.arff": "c680833ef5163d67a6a13c06c277420abb125c164a30b0fcf874383324d3cf95",
    "langlog.xml": "5110d363b6d047c96ca27769d7f033cd8c195e9701e7107e1071d4b7ae51195b",
    "image-train.arff": "26bdac46f5eda9aa44adf8496787242a5a9d3cd2c5fa284d36b9d5221e0b92b6",
    "image-test.arff": "7ae850e486b4490b2fa55a06c0b67f2b5bf5406fbf9f2b80fc78acffa2066a26",
    "image.xml": "d1feb933924093f582052b20a1c1417ebcca5ca6267c5973fdc32a2f49014afc",
}
"""The SHA-256 of each file."""

CONVERTED: dict[str, str] = {
    "rcv1-subset1": "rcv1sub1 of the R package mldr.datasets, without its columns of zeros",
}
"""Origins of data sets that were converted from another format and have no download."""
