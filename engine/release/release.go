// Package release tells which release of lkeplan a program is. It knows only how the program was
// built.
package release

import (
	"runtime/debug"
	"strings"

	"golang.org/x/mod/module"
)

// Version is the module version that the program was built from, or "devel" and the commit if it was
// built from a checkout.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	if commit := Setting(info, "vcs.revision"); commit != "" {
		return "devel-" + commit[:min(12, len(commit))]
	}
	return "devel"
}

// Of is the release of a version, for required_version. It is "" for programs that were built from a
// checkout, which satisfy all constraints; their version is that of the commit, v0.0.0-TIME-COMMIT.
func Of(version string) string {
	if strings.HasPrefix(version, "devel") || module.IsPseudoVersion(version) || strings.HasSuffix(version, "+dirty") {
		return ""
	}
	return version
}

// Setting is a setting of the build; "" if it is unknown.
func Setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
