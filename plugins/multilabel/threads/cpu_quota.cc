/**
 * @brief See `cpu_quota.h`.
 */
#include "cpu_quota.h"

#include <algorithm>  // for max, min
#include <cstddef>    // for size_t
#include <fstream>    // for ifstream
#include <limits>     // for numeric_limits
#include <string>     // for getline, string

namespace xdcc {
namespace {
constexpr int kNoQuota = std::numeric_limits<int>::max();

int Rounded(double quota, double period) {
  if (!(quota > 0.0) || !(period > 0.0)) {
    return kNoQuota;
  }
  return std::max(1, static_cast<int>(std::min(quota / period + 0.999, 1e6)));
}

double ReadNumber(std::string const& file) {
  double number{-1.0};
  std::ifstream{file} >> number;
  return number;
}

/** @brief Quota of one group: version 2 has one file, version 1 two. */
int OfGroup(std::string const& folder) {
  std::ifstream both{folder + "/cpu.max"};
  double quota{-1.0}, period{-1.0};
  if (both >> quota >> period) {  // "max" instead of a quota is no number
    return Rounded(quota, period);
  }
  return Rounded(ReadNumber(folder + "/cpu.cfs_quota_us"),
                 ReadNumber(folder + "/cpu.cfs_period_us"));
}

/** @brief Least quota of the group `path` below the mount point, and of the groups above it. */
int OfGroups(std::string const& mount, std::string path) {
  int least = OfGroup(mount);
  while (path.size() > 1) {
    least = std::min(least, OfGroup(mount + path));
    path.resize(path.rfind('/'));
  }
  return least;
}
}  // namespace

int QuotaCpus() {
  int least = kNoQuota;
  std::ifstream groups{"/proc/self/cgroup"};  // lines like 4:cpu,cpuacct:/path and 0::/path
  for (std::string line; std::getline(groups, line);) {
    auto const first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos || second + 1 >= line.size() || line[second + 1] != '/') {
      continue;
    }
    auto const controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers == ",,") {
      least = std::min(least, OfGroups("/sys/fs/cgroup", line.substr(second + 1)));
    } else if (controllers.find(",cpu,") != std::string::npos) {
      least = std::min(least, OfGroups("/sys/fs/cgroup/cpu", line.substr(second + 1)));
    }
  }
  return least;
}
}  // namespace xdcc
