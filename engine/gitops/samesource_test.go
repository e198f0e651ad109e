package gitops

import (
	"path/filepath"
	"testing"
)

func TestPathsStayWithinSource(t *testing.T) {
	for path, want := range map[string]string{
		"": ".", ".": ".", "/": ".", "clusters/dev": "clusters/dev", "./clusters/dev/": "clusters/dev",
		"../../etc": "etc", "a/../../b": "b",
	} {
		if got := sourcePath(path); got != want || !filepath.IsLocal(got) {
			t.Errorf("Path(%q) = %q, want %q", path, got, want)
		}
	}
}
