package bootstrap

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/lkeplan/lkeplan/testdata/golden"
)

// TestUserData compares what machines read. Where there is a template, it is tried and
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
