package bootstrap

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/testdata/golden"
)

// TestUserData compares what machines read. If there is a template, it is tried and
// nothing else.
func TestUserData(t *testing.T) {
	golden.Archives(t, "testdata", func(files fstest.MapFS) map[string]string {
		var j Join
		if err := yaml.UnmarshalStrict(files["join.yaml"].Data, &j); err != nil {
			t.Fatal(err)
		}
		j.CA = files["ca.pem"].Data
		ways := map[string]func(Join) ([]byte, error){"kubeadm": Kubeadm, "k3s": K3s}
		if template := files["template"]; template != nil {
			ways = map[string]func(Join) ([]byte, error){"custom": func(j Join) ([]byte, error) {
				return Custom(string(template.Data), j)
			}}
		}
		got := map[string]string{}
		for name, way := range ways {
			text, err := way(j)
			if again, _ := way(j); !bytes.Equal(text, again) {
				t.Errorf("%s: another text for the same input", name)
			}
			got["want."+name] = shown(string(text))
			if err != nil {
				got["want."+name] = err.Error() + "\n"
			}
		}
		return got
	})
}

// shown is user data with the scripts left out, which are files of this package.
func shown(text string) string {
	var c struct {
		Files []file `json:"write_files"`
	}
	if err := yaml.Unmarshal([]byte(text), &c); err != nil || !strings.Contains(text, scriptFile) {
		return text // of a template
	}
	var b strings.Builder
	for _, f := range c.Files {
		switch f.Path {
		case scriptFile:
			f.Content = "(script)\n"
		case caFile:
			f.Content = "(CA)\n"
		}
		b.WriteString("# " + f.Path + " " + f.Permissions + "\n" + f.Content)
	}
	return b.String()
}

// TestCAIsLeftOutIfThereIsNoRoom: a machine joins without it, and reports nothing then. With it there is room for all
// that a pool may be expected to say.
func TestCAIsLeftOutIfThereIsNoRoom(t *testing.T) {
	for _, c := range []struct {
		cas, labels int
		fits, has   bool
	}{
		{cas: 1, labels: 60, fits: true, has: true},
		{cas: 4, labels: 40, fits: true, has: true},
		{cas: 12, labels: 60, fits: true},
		{cas: 1, labels: 150},
	} {
		j := sample()
		j.CA = bytes.Repeat([]byte("# a comment\n"+sampleCA), c.cas)
		j.Labels = map[string]string{}
		for i := range c.labels {
			j.Labels[fmt.Sprintf("example.com/label-%d", i)] = strings.Repeat("x", 60)
		}
		for name, way := range map[string]func(Join) ([]byte, error){"kubeadm": Kubeadm, "k3s": K3s} {
			text, err := way(j)
			if (err == nil) != c.fits || len(text) > api.MaxUserData {
				t.Errorf("%s, %+v: %d bytes, %v", name, c, len(text), err)
				continue
			}
			if c.fits && strings.Contains(string(text), "path: "+caFile+"\n") != c.has || strings.Contains(string(text), "a comment") {
				t.Errorf("%s, %+v: %d bytes", name, c, len(text))
			}
		}
	}
}
