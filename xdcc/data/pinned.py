"""Digests of what the published files hold, and of the labels of the data sets that OpenML has.

OpenML's own features are not pinned (a digest of them needs a download, which nobody has made for
this file): its labels must be those of the published files.
"""

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
"""By file: `content_digest` of what is read from it, identifiers of rows left out."""

LABELS: dict[str, str] = {
    "emotions": "e2a0b1854c35bcbd3534654f2e5fe16bc3b132f7e351e1300f3f60ea1560f76e",
    "scene": "2fbc8f5747c1e4417045a59b53aed4049cfc449b0ca7b3d38dd05ad93bdde2cd",
    "yeast": "ec68a4fb98dcc1fe4214c14bafc7760e0b433cb835c3090e5e7c282272853b03",
    "birds": "325983466a37aea7405a90225c0654941137774c169d41e705ebad0afacdb7fb",
    "genbase": "951552845ada0b072dbcbd9dcf81c4163b9c9c418ae3d97744dda8349863973d",
    "enron": "a6cdec49438c90722f2cbdafc491d818f493ee9c5326ec58c54d48d67b71efcb",
    "slashdot": "848a2559fbaa7701673334ffd32d4a3ae1f19efa465e3cbed22949fb13566dd5",
    "langlog": "aa808e100e173d3e9d62f62242df9994a05985b5e162cb845effcfcaa003d7c9",
}
"""By data set: `label_digest` of all its samples."""
