// Package release says which release of lkeplan a program is. It knows nothing but how it
// was built.
package release

import (
	"runtime/debug"
	"strings"

	"golang.org/x/mod/module"
)

// Version is what the module proxy built the program from, or "devel" and the
// commit where it was built from a checkout.
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

// Of is the release of a version, for required_version: "" for programs that were built
// from a checkout, which satisfy all constraints. There the version is of the commit,
// v0.0.0-TIME-COMMIT.
func Of(version string) string {
	if strings.HasPrefix(version, "devel") || module.IsPseudoVersion(version) || strings.HasSuffix(version, "+dirty") {
		return ""
	}
	return version
}

// Setting is a setting of the build; "" where it is not known.
func Setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
