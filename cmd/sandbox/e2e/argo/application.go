package argo

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// An Application is the part of one that a plugin's server gets.
type Application struct {
	Name, Namespace, Project string
	Repository               string // its URL
	Path                     string // of its directory in the repository
	TargetRevision           string
	Revision                 string
	KubeVersion              string
	APIVersions              []string
	Env                      []Env
	Parameters               []Parameter

	// Sent is the part of the repository that the server gets, where the
	// Application has the annotation manifest-generate-paths; else all of it.
	Sent string
}

// Env is one of spec.source.plugin.env.
type Env struct{ Name, Value string }

// A Parameter is one of spec.source.plugin.parameters. The value that is set is written, even if it is empty.
type Parameter struct {
	Name   string            `json:"name"`
	String *string           `json:"string,omitzero"`
	Array  []string          `json:"array,omitzero"`
	Map    map[string]string `json:"map,omitzero"`
}

// environ is what the repository server adds to the environment. It adds more to
// generate than to list parameters.
func (a Application) environ(generating bool) []string {
	about := [][2]string{
		{"ARGOCD_APP_NAME", a.Name},
		{"ARGOCD_APP_REVISION", a.Revision},
		{"ARGOCD_APP_SOURCE_REPO_URL", a.Repository},
		{"ARGOCD_APP_SOURCE_PATH", a.Path},
		{"ARGOCD_APP_SOURCE_TARGET_REVISION", a.TargetRevision},
	}
	if generating {
		about = append(about, [][2]string{
			{"ARGOCD_APP_NAMESPACE", a.Namespace},
			{"ARGOCD_APP_PROJECT_NAME", a.Project},
			{"ARGOCD_APP_REVISION_SHORT", a.Revision[:min(7, len(a.Revision))]},
			{"ARGOCD_APP_REVISION_SHORT_8", a.Revision[:min(8, len(a.Revision))]},
			{"KUBE_VERSION", a.KubeVersion},
			{"KUBE_API_VERSIONS", strings.Join(a.APIVersions, ",")},
		}...)
	}
	known := map[string]string{}
	var environ []string
	for _, v := range about {
		known[v[0]] = v[1]
		environ = append(environ, v[0]+"="+v[1])
	}
	for _, e := range a.Env {
		environ = append(environ,
			"ARGOCD_ENV_"+e.Name+"="+os.Expand(e.Value, func(name string) string { return known[name] }))
	}
	return append(environ, a.parameters()...)
}

// parameters are passed twice: all in one variable, and each in its own.
func (a Application) parameters() []string {
	all, err := json.Marshal(a.Parameters)
	if err != nil {
		panic(err) // texts in lists and maps can be encoded
	}
	environ := []string{"ARGOCD_APP_PARAMETERS=" + string(all)}
	for _, p := range a.Parameters {
		name := "PARAM_" + escaped(p.Name)
		if p.String != nil {
			environ = append(environ, name+"="+*p.String)
		}
		for i, value := range p.Array {
			environ = append(environ, fmt.Sprintf("%s_%d=%s", name, i, value))
		}
		for key, value := range p.Map {
			environ = append(environ, name+"_"+escaped(key)+"="+value)
		}
	}
	return environ
}

var notInNames = regexp.MustCompile("[^A-Z0-9_]")

func escaped(name string) string { return notInNames.ReplaceAllString(strings.ToUpper(name), "_") }
