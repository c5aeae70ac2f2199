/**
 * @brief See `cpu_quota.h`.
 */
#include "cpu_quota.h"

#include <algorithm>  // for find, min
#include <cstddef>    // for size_t
#include <cstdio>     // for EOF
#include <fstream>    // for ifstream
#include <iterator>   // for istream_iterator
#include <limits>     // for numeric_limits
#include <map>        // for map
#include <sstream>    // for istringstream
#include <string>     // for getline, stoi, string
#include <vector>     // for vector

namespace xdcc {
namespace {
constexpr double kNone = std::numeric_limits<double>::infinity();

std::vector<std::string> Split(std::string const& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in{text};
  for (std::string part; std::getline(in, part, separator);) {
    parts.push_back(part);
  }
  return parts;
}

std::vector<std::string> Words(std::istream&& in) {
  return {std::istream_iterator<std::string>{in}, {}};
}

/** @brief Replace octal codes, which encode spaces and similar characters in mount points. */
std::string Unescaped(std::string const& path) {
  std::string out;
  for (std::size_t i = 0; i < path.size(); ++i) {
    auto const code = path.substr(i + 1, 3);
    if (path[i] == '\\' && code.size() == 3 &&
        code.find_first_not_of("01234567") == std::string::npos) {
      out += static_cast<char>(std::stoi(code, nullptr, 8));
      i += 3;
    } else {
      out += path[i];
    }
  }
  return out;
}

/** @brief Groups of a process by controller, from lines like 4:cpu,cpuacct:/path and 0::/path. */
std::map<std::string, std::string> Groups(std::string const& process) {
  std::map<std::string, std::string> groups;
  std::ifstream in{process + "/cgroup"};
  for (std::string line; std::getline(in, line);) {
    auto const first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) {
      continue;
    }
    auto const path = line.substr(second + 1);
    if (second == first + 1) {
      groups[""] = path;  // version 2
    }
    for (auto const& controller : Split(line.substr(first + 1, second - first - 1), ',')) {
      groups[controller] = path;
    }
  }
  return groups;
}

/** @brief A number; 0 for any other text. */
double Number(std::string const& text) {
  std::istringstream in{text};
  double number{0.0};
  return in >> number && in.peek() == EOF ? number : 0.0;
}

/** @brief Quota of one group: version 2 has one file, version 1 two. */
double OfGroup(std::string const& folder) {
  auto words = Words(std::ifstream{folder + "/cpu.max"});
  if (words.empty()) {
    words = Words(std::ifstream{folder + "/cpu.cfs_quota_us"});
    auto const period = Words(std::ifstream{folder + "/cpu.cfs_period_us"});
    words.insert(words.end(), period.cbegin(), period.cend());
  }
  if (words.size() != 2) {
    return kNone;
  }
  double const quota = Number(words[0]), period = Number(words[1]);  // "max" and -1: no limit
  return quota > 0.0 && period > 0.0 ? quota / period : kNone;
}

/**
 * @brief Least quota of a group and of the groups above it, up to the mount.
 *
 * A mount may show a part of the hierarchy, from `root`. In a container with its own namespace
 * the path may lead out of it, or be that of the host: then only the mount itself is read.
 */
double OfGroups(std::string const& mount, std::string const& root, std::string group) {
  if (root != "/" && (group == root || group.rfind(root + "/", 0) == 0)) {
    group.erase(0, root.size());
  }
  auto folder = mount;
  double least = OfGroup(folder);
  auto const parts = Split(group, '/');
  if (std::find(parts.cbegin(), parts.cend(), "..") != parts.cend()) {
    return least;
  }
  for (auto const& part : parts) {
    if (!part.empty()) {
      folder += "/" + part;
      least = std::min(least, OfGroup(folder));
    }
  }
  return least;
}
}  // namespace

double CpuQuota(char const* process) {
  auto const groups = Groups(process);
  double least = kNone;
  std::ifstream mounts{std::string{process} + "/mountinfo"};
  for (std::string line; std::getline(mounts, line);) {
    // 36 35 0:30 /root/of/the/mount /where/it/is rw - cgroup source rw,cpu
    auto const dash = line.find(" - ");
    if (dash == std::string::npos) {
      continue;
    }
    auto const where = Words(std::istringstream{line.substr(0, dash)});
    auto const what = Words(std::istringstream{line.substr(dash + 3)});
    if (where.size() < 5 || what.size() < 3) {
      continue;
    }
    auto const options = Split(what[2], ',');
    bool const first =
        what[0] == "cgroup" && std::find(options.cbegin(), options.cend(), "cpu") != options.cend();
    auto const group = first                  ? groups.find("cpu")
                       : what[0] == "cgroup2" ? groups.find("")
                                              : groups.cend();
    if (group != groups.cend()) {
      least = std::min(least, OfGroups(Unescaped(where[4]), where[3], group->second));
    }
  }
  return least;
}
}  // namespace xdcc
