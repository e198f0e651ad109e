package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/config/syntax"
)

// The variables of the environment that are read. Parameters are there a second
// time as PARAM_*, with names in capitals and without special characters; those
// are not read.
const (
	parametersVar = "ARGOCD_APP_PARAMETERS"
	pathVar       = "ARGOCD_APP_SOURCE_PATH"
	// The entries of an Application's spec.source.plugin.env get the prefix
	// ARGOCD_ENV_, and $ARGOCD_APP_* in them is replaced, unlike in parameters.
	variablePrefix = "ARGOCD_ENV_LKEPLAN_VAR_"
)

// The parameters that are not values of variables. No variable has a name with
// a dot.
const (
	ownPrefix  = "lkeplan."
	allowEmpty = ownPrefix + "allow-empty"
	varFiles   = ownPrefix + "var-files"
)

// A Request is how an Application has a plugin compile its directory.
type Request struct {
	Path       string       // of the directory in its repository
	Vars       []config.Var // weakest first
	VarFiles   []string     // paths from the directory, weakest first
	AllowEmpty bool         // no objects are no error
}

// A parameter is one of spec.source.plugin.parameters, as Argo CD encodes it: it
// has exactly one of the values.
type parameter struct {
	Name   string             `json:"name"`
	String *string            `json:"string"`
	Array  *[]string          `json:"array"`
	Map    *map[string]string `json:"map"`
}

// ReadRequest reads the environment that Argo CD runs a plugin in, as lines
// NAME=VALUE. The error names the parameter that cannot be understood.
func ReadRequest(environ []string) (Request, error) {
	var r Request
	text := ""
	fromEnv := map[string]config.Var{}
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		switch variable, isVariable := strings.CutPrefix(name, variablePrefix); {
		case name == pathVar:
			r.Path = value
		case name == parametersVar:
			text = value
		case isVariable:
			fromEnv[variable] = config.Var{Name: variable, Value: value, Source: name}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fromEnv)) {
		r.Vars = append(r.Vars, fromEnv[name])
	}
	return r, r.addParameters(text)
}

func (r *Request) addParameters(text string) error {
	if text == "" {
		return nil
	}
	var parameters []parameter
	if err := json.Unmarshal([]byte(text), &parameters); err != nil {
		return fmt.Errorf("read the parameters in %s: %w", parametersVar, err)
	}
	for _, p := range parameters {
		var err error
		if strings.HasPrefix(p.Name, ownPrefix) {
			err = r.addOwn(p)
		} else {
			err = r.addVariable(p)
		}
		if err != nil {
			return fmt.Errorf("parameter %q: %w", p.Name, err)
		}
	}
	return nil
}

// addOwn adds a parameter of lkeplan itself.
func (r *Request) addOwn(p parameter) (err error) {
	switch p.Name {
	case allowEmpty:
		if p.String == nil {
			return fmt.Errorf("use string with true or false")
		}
		if r.AllowEmpty, err = strconv.ParseBool(*p.String); err != nil {
			return fmt.Errorf("%q is neither true nor false", *p.String)
		}
	case varFiles:
		if p.Array == nil {
			return fmt.Errorf("use array with the paths of the files")
		}
		r.VarFiles = append(r.VarFiles, *p.Array...)
	default:
		return fmt.Errorf("unknown parameter.%s", eval.DidYouMean(p.Name, []string{allowEmpty, varFiles}))
	}
	return nil
}

// addVariable adds a parameter that is the value of a variable. The parts of an
// array or a map are text, which is converted to the variable's type later.
func (r *Request) addVariable(p parameter) error {
	v := config.Var{Name: p.Name, Source: "parameter " + p.Name}
	switch {
	case p.String != nil:
		v.Value = *p.String
	case p.Array != nil:
		var list []cty.Value
		for _, value := range *p.Array {
			list = append(list, cty.StringVal(value))
		}
		v.Value = syntax.Print(cty.TupleVal(list))
	case p.Map != nil:
		entries := map[string]cty.Value{}
		for key, value := range *p.Map {
			entries[key] = cty.StringVal(value)
		}
		v.Value = syntax.Print(cty.ObjectVal(entries))
	default:
		return fmt.Errorf("it has no value; use string, array or map")
	}
	r.Vars = append(r.Vars, v)
	return nil
}

// Below returns how many directories the root of the repository is above a
// directory, given by its absolute path: how many of its last names are also the
// last names of the Application's path. Argo CD's copy of a repository may have no
// .git, and with the annotation manifest-generate-paths only a part of the files.
func (r Request) Below(dir string) (depth int) {
	have, want := names(dir), names(r.Path)
	for depth < len(have) && depth < len(want) && have[len(have)-1-depth] == want[len(want)-1-depth] {
		depth++
	}
	return depth
}

func names(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(name string) bool { return name == "" || name == "." })
}
