package binaries

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"strings"
)

// toolchain returns what a build depends on in addition to its module. The compiler of the
// sandbox stands for the go command, which is not needed once everything is built.
func toolchain() string {
	return strings.Join([]string{runtime.Version(), runtime.GOOS, runtime.GOARCH}, " ")
}

// goVersion returns the version of Go that built the sandbox, and with which it builds programs, such as go1.27.3.
func goVersion() string {
	version, _, _ := strings.Cut(runtime.Version(), " ")
	return version
}

// digest names a build of the module: it changes with everything that changes the
// result, and with nothing else.
func (m Module) digest(toolchain string) (string, error) {
	mod, sum, err := m.source()
	if err != nil {
		return "", err
	}
	flags, err := m.buildFlags()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, part := range []string{toolchain, m.Name, string(mod), string(sum), strings.Join(flags, "\n")} {
		fmt.Fprintf(h, "%d\n%s", len(part), part)
	}
	for _, p := range m.Programs {
		fmt.Fprintf(h, "program %q %q\n", p.Name, p.Package)
	}
	for _, a := range m.Assets {
		fmt.Fprintf(h, "asset %q %q %q\n", a.Module, a.Path, a.Name)
	}
	return hex.EncodeToString(h.Sum(nil))[:12], nil
}

// buildFlags returns the flags of go build.
func (m Module) buildFlags() ([]string, error) {
	link := "-s -w"
	if m.Stamp != nil {
		version, err := m.version()
		if err != nil {
			return nil, err
		}
		for _, pair := range m.Stamp(version) {
			link += " -X " + pair
		}
	}
	// -mod overrides GOFLAGS. No flag may change how packages are compiled, so that packages that were compiled for
	// lkeplan are reused.
	return []string{"-mod=readonly", "-buildvcs=false", "-ldflags", link}, nil
}
