package catalog

import (
	"strings"
	"testing"
)

func TestVersionsOfBothTiersAreCompared(t *testing.T) {
	tests := []struct {
		have, want string
		outdated   bool // nodes that have it are replaced where the other is wanted
		reaches    bool // a control plane that has it can have nodes of the other
	}{
		{"v1.33.4+lke2", "v1.33.4+lke2", false, true},
		{"v1.33.4+lke2", "v1.34.1+lke1", true, false},
		{"v1.34.1+lke1", "v1.33.4+lke2", true, true},
		{"v1.33.4+lke2", "v1.33.4+lke3", true, false},
		{"v1.33.10+lke1", "v1.33.9+lke1", true, true},
		{"v1.33.4", "v1.33.4+lke2", false, true}, // a kubelet does not say which release of LKE it is
		{"v1.33.4", "v1.33.5+lke1", true, false},
		{"v1.33.1", "1.34", true, false},
		{"v1.34.1", "1.34", false, true},
		{"v1.35.0", "1.34", false, true}, // newer than is wanted: LKE makes no older ones
		{"1.9", "1.10", true, false},
		{"", "1.34", false, true},
		{"v1.33.1", "", false, true},
		{"latest", "1.34", false, true},
	}
	for _, tt := range tests {
		if got := OutdatedVersion(tt.have, tt.want); got != tt.outdated {
			t.Errorf("nodes of %q where %q is wanted: outdated = %v", tt.have, tt.want, got)
		}
		if got := ReachesVersion(tt.have, tt.want); got != tt.reaches {
			t.Errorf("a control plane of %q and nodes of %q: reaches = %v", tt.have, tt.want, got)
		}
	}
}

func TestEachTierWritesVersionsInItsWay(t *testing.T) {
	for text, fits := range map[string]string{
		"1.34":           "standard",
		"v1.34.1+lke2":   "enterprise",
		"1.34.1+lke2":    "",
		"v1.34":          "",
		"v1.34.1":        "",
		"1.34.1":         "",
		"v1.34+lke2":     "",
		"":               "",
		"latest":         "",
		"1.034":          "",
		"1.99999999999":  "",
		"v1.34.1+lke2\n": "",
	} {
		for tier, enterprise := range map[string]bool{"standard": false, "enterprise": true} {
			if problem := VersionProblem(text, enterprise); (problem == "") != (fits == tier) {
				t.Errorf("%q on the %s tier: %q", text, tier, problem)
			}
		}
	}
}

func TestTheNewestVersionIsNotTheLastOfTheAlphabet(t *testing.T) {
	if got := NewestVersion("v1.9.9+lke9", "", "v1.33.10+lke1", "none", "v1.33.9+lke4"); got != "v1.33.10+lke1" {
		t.Errorf("newest = %q", got)
	}
}

func TestVersionDeadlineNamesKnownAndUnknown(t *testing.T) {
	for version, want := range map[string][]string{
		"v1.33.4+lke2": {"nodes of 1.33", "control planes up to 1.36", "how long LKE Enterprise keeps a build is unknown"},
		"1.34":         {"nodes of 1.34", "control planes up to 1.37", "2026-10-27", "does not report the exact day"},
		"1.77":         {"control planes up to 1.80", "when LKE ends support for 1.77 is unknown"},
	} {
		for _, part := range want {
			if got := VersionDeadline(version); !strings.Contains(got, part) {
				t.Errorf("the deadline of %s is %q, want %q in it", version, got, part)
			}
		}
	}
	if got := VersionDeadline("latest"); got != "" {
		t.Errorf("the deadline of what is no version is %q", got)
	}
}
