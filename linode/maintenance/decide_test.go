package maintenance

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func in(d time.Duration) time.Time { return noon.Add(d) }

// TestDecide: claims are named by their instance; "!" at the end says that Karpenter replaces them already.
func TestDecide(t *testing.T) {
	const day = 24 * time.Hour
	tests := []struct {
		name      string
		now       time.Time
		claims    string
		announced []api.Maintenance
		lead      time.Duration // 0: no class asks for it
		want      string        // "=": has maintenance; "~": due; "+": its turn
	}{
		{name: "nothing is announced", claims: "1 2", lead: day, want: ""},
		{name: "a later maintenance is shown only", claims: "1 2", lead: day,
			announced: []api.Maintenance{{Linode: 1, Start: in(25 * time.Hour)}}, want: "1="},
		{name: "one within the time is due", claims: "1 2", lead: day,
			announced: []api.Maintenance{{Linode: 1, Start: in(day)}}, want: "1+"},
		{
			name: "no class asks for it", claims: "1 2",
			announced: []api.Maintenance{{Linode: 1, Start: in(time.Hour)}}, want: "1=",
		},
		{
			name: "another account's Linode", claims: "1", lead: day,
			announced: []api.Maintenance{{Linode: 7, Start: in(0)}}, want: "",
		},
		{name: "the earliest first", claims: "1 2 3", lead: day, announced: []api.Maintenance{
			{Linode: 1, Start: in(3 * time.Hour)}, {Linode: 2, Start: in(1 * time.Hour)}, {Linode: 3, Start: in(2 * time.Hour)},
		}, want: "1~ 2+ 3~"},
		{name: "the next once the first has drifted", claims: "1 2! 3", lead: day, announced: []api.Maintenance{
			{Linode: 1, Start: in(3 * time.Hour)}, {Linode: 2, Start: in(1 * time.Hour)}, {Linode: 3, Start: in(2 * time.Hour)},
		}, want: "1~ 2+ 3+"},
		{name: "the same start at the same time", claims: "1 2 3", lead: day, announced: []api.Maintenance{
			{Linode: 1, Start: in(3 * time.Hour)}, {Linode: 2, Start: in(time.Hour)}, {Linode: 3, Start: in(time.Hour)},
		}, want: "1~ 2+ 3+"},
		{name: "one that drifts for another reason blocks none", claims: "1 2!", lead: day, announced: []api.Maintenance{
			{Linode: 1, Start: in(3 * time.Hour)}, {Linode: 2, Start: in(time.Hour)},
		}, want: "1+ 2+"},
		{name: "one without a start is shown only, and blocks none", claims: "1 2", lead: day,
			announced: []api.Maintenance{{Linode: 1}, {Linode: 2, Start: in(time.Hour)}}, want: "1= 2+"},
		{name: "nor does one that has started replace the node", claims: "1", lead: day,
			announced: []api.Maintenance{{Linode: 1, Status: "started"}}, want: "1="},
		{name: "of two the one with a start", claims: "1", lead: day,
			announced: []api.Maintenance{{Linode: 1}, {Linode: 1, Start: in(time.Hour)}, {Linode: 1}}, want: "1+"},
		{
			name: "one that has started", claims: "1", lead: day,
			announced: []api.Maintenance{{Linode: 1, Start: in(-time.Hour)}}, want: "1+",
		},
		{name: "one that is over is not shown, and blocks none", claims: "1 2", lead: day,
			announced: []api.Maintenance{
				{Linode: 1, Start: in(-4 * time.Hour), Status: "started"}, {Linode: 2, Start: in(time.Hour)},
			}, want: "2+"},
		{name: "nor does it hide one that is due", claims: "1", lead: day,
			announced: []api.Maintenance{
				{Linode: 1, Start: in(-100 * time.Hour)}, {Linode: 1, Start: in(9 * time.Hour)},
			}, want: "1+"},
		{name: "the earliest of two", claims: "1", lead: time.Hour,
			announced: []api.Maintenance{{Linode: 1, Start: in(9 * time.Hour)}, {Linode: 1, Start: in(time.Hour)}}, want: "1+"},
		{name: "the clock is set back", now: in(-48 * time.Hour), claims: "1!", lead: day,
			announced: []api.Maintenance{{Linode: 1, Start: in(time.Hour)}}, want: "1="},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var claims []*karpv1.NodeClaim
			drifts := map[string]bool{}
			for name := range strings.FieldsSeq(test.claims) {
				id, drifted := strings.CutSuffix(name, "!")
				nc := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: id}}
				nc.Status.ProviderID = "linode://" + id
				claims, drifts[id] = append(claims, nc), drifted
			}
			now := test.now
			if now.IsZero() {
				now = noon
			}
			got := map[string]string{}
			for _, d := range Decide(now, claims, Windows(test.announced, now),
				func(*karpv1.NodeClaim) time.Duration { return test.lead },
				func(nc *karpv1.NodeClaim) bool { return drifts[nc.Name] }) {
				switch {
				case d.Replace:
					got[d.Claim.Name] = "+"
				case d.Due:
					got[d.Claim.Name] = "~"
				case d.Window != nil:
					got[d.Claim.Name] = "="
				}
			}
			want := map[string]string{}
			for word := range strings.FieldsSeq(test.want) {
				want[word[:1]] = word[1:]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestMaintenanceExplainsAMachineThatIsOff: from shortly before its start until four hours after it. If Linode says that
// it has started, our clock may be behind.
func TestMaintenanceExplainsAMachineThatIsOff(t *testing.T) {
	at := func(start time.Duration, started bool) *Window {
		return &Window{Start: in(start), Type: "migrate", Started: started}
	}
	for name, tt := range map[string]struct {
		window *Window
		want   bool
	}{
		"no maintenance":                            {nil, false},
		"in an hour":                                {at(time.Hour, false), false},
		"in five minutes":                           {at(5*time.Minute, false), true},
		"since an hour":                             {at(-time.Hour, false), true},
		"since an hour, as Linode says":             {at(-time.Hour, true), true},
		"since five hours":                          {at(-5*time.Hour, false), false},
		"since five hours, as Linode says":          {at(-5*time.Hour, true), false},
		"in a day, and it has started":              {at(24*time.Hour, true), true},
		"at a time that Linode does not name":       {&Window{Type: "migrate"}, false},
		"since a time that is unknown":              {&Window{Type: "migrate", Started: true}, false},
		"an emergency that is announced when it is": {&Window{Start: in(0), Emergency: true}, true},
	} {
		if got := tt.window.Explains(noon); got != tt.want {
			t.Errorf("%s: it explains that the machine is off: %v, want %v", name, got, tt.want)
		}
	}
}

// TestWindowOfSeveral: the earliest that is not over. The order in the list does not matter.
func TestWindowOfSeveral(t *testing.T) {
	word := strings.Repeat("a", 50)
	for name, tt := range map[string]struct {
		announced []api.Maintenance
		want      Window
	}{
		"the earliest": {[]api.Maintenance{{Start: in(9 * time.Hour)}, {Start: in(8 * time.Hour)}},
			Window{Start: in(8 * time.Hour)}},
		"one that runs": {[]api.Maintenance{{Start: in(time.Hour)}, {Start: in(-time.Hour), Status: "started"}},
			Window{Start: in(-time.Hour), Started: true}},
		"one that stays in the list": {
			[]api.Maintenance{{Start: in(-4 * time.Hour)}, {Start: in(9 * time.Hour)}}, Window{Start: in(9 * time.Hour)}},
		"no time, and one that is later": {[]api.Maintenance{{Type: "reboot"}, {Start: in(time.Hour)}}, Window{Start: in(time.Hour)}},
		"no time":                        {[]api.Maintenance{{Start: in(-4 * time.Hour)}, {Type: "reboot"}}, Window{Type: "reboot"}},
		"a long word":                    {[]api.Maintenance{{Start: noon, Type: word}}, Window{Start: noon, Type: word}},
		"a type that is no word": {[]api.Maintenance{{Start: noon, Type: "a\x1b[31m\nb\u202e"}},
			Window{Start: noon, Type: `"a\x1b[31m b\u202e"`}},
		"a type of a megabyte": {[]api.Maintenance{{Start: noon, Type: strings.Repeat("a", 1<<20)}},
			Window{Start: noon, Type: `"` + strings.Repeat("a", 54) + `..."`}},
	} {
		slices.Reverse(tt.announced)
		for range 2 {
			slices.Reverse(tt.announced)
			if diff := cmp.Diff(map[int]Window{0: tt.want}, Windows(tt.announced, noon)); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

func TestWindowIsReadAsItWasWritten(t *testing.T) {
	for _, w := range []Window{
		{}, {Start: noon, Type: "power_off_on"}, {Start: noon, Type: "migrate", Emergency: true, Started: true},
		{Type: "migrate", Started: true},
	} {
		nc := &karpv1.NodeClaim{}
		nc.Annotations = Decision{Claim: nc, Window: &w}.annotations()
		if got := Of(nc); got == nil || *got != w {
			t.Errorf("%+v was read as %+v", w, got)
		}
	}
	for _, bad := range []string{"", "null", "null?", "[]", `"x"`} {
		nc := &karpv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{Annotation: bad}}}
		if got := Of(nc); got != nil {
			t.Errorf("%q was read as %+v", bad, got)
		}
	}
	if id := nodeclaim.InstanceOf("linode://1"); id != 1 {
		t.Errorf("provider ids are read as %d", id)
	}
}
