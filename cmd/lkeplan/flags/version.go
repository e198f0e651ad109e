package flags

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/lkeplan/lkeplan/engine/release"
)

// Versions says what the program was built from: its own version and commit, and
// those of Karpenter and Kubernetes that it agrees with.
func Versions() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	required := map[string]string{}
	for _, module := range info.Deps {
		required[module.Path] = module.Version
	}
	commit := cmp.Or(release.Setting(info, "vcs.revision"), "unknown") // the version of a release says it
	if release.Setting(info, "vcs.modified") == "true" {
		commit += ", and changes that are not committed"
	}
	kubernetes := required["k8s.io/api"] // v0.36.4 is of Kubernetes v1.36.4
	if minor, ok := strings.CutPrefix(kubernetes, "v0."); ok {
		kubernetes = "v1." + minor
	}
	return fmt.Sprintf("lkeplan    %s (%s, %s/%s)\ncommit     %s\nKarpenter  %s\nKubernetes %s\n",
		Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, commit,
		cmp.Or(required["sigs.k8s.io/karpenter"], "unknown"), cmp.Or(kubernetes, "unknown"))
}

// Version is that of package release.
func Version() string { return release.Version() }
