package compile

import (
	"runtime/debug"
	"strings"

	"golang.org/x/mod/module"
)

// Version returns the version of this program: the module version that it was built from, or "devel" and the
// commit if it was built from a checkout.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	if commit := BuildSetting(info, "vcs.revision"); commit != "" {
		return "devel-" + commit[:min(12, len(commit))]
	}
	return "devel"
}

// Release returns the release of a version, for required_version. It is "" for programs that were built from a
// checkout, which satisfy all constraints; their version is that of the commit, v0.0.0-TIME-COMMIT.
func Release(version string) string {
	if strings.HasPrefix(version, "devel") || module.IsPseudoVersion(version) || strings.HasSuffix(version, "+dirty") {
		return ""
	}
	return version
}

// BuildSetting returns a setting of the build; "" if it is unknown.
func BuildSetting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
