package argocd

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

// The variables of the environment that mean something here. Parameters arrive
// once more as PARAM_*, in capitals and without what else their names have;
// those say nothing new and are not read.
const (
	parametersVar = "ARGOCD_APP_PARAMETERS"
	pathVar       = "ARGOCD_APP_SOURCE_PATH"
	// What an Application has in spec.source.plugin.env gets the prefix
	// ARGOCD_ENV_, and its $ARGOCD_APP_* are replaced, unlike in parameters.
	variablePrefix = "ARGOCD_ENV_LKEPLAN_VAR_"
)

// The parameters that are not values of variables. No variable has a name with
// a dot.
const (
	ownPrefix  = "lkeplan."
	allowEmpty = ownPrefix + "allow-empty"
	varFiles   = ownPrefix + "var-files"
)

// A Request is what an Application asks a plugin for.
type Request struct {
	Path       string       // of the directory in its repository
	Vars       []config.Var // weakest first
	VarFiles   []string     // paths from the directory, weakest first
	AllowEmpty bool
}

// A parameter is one of spec.source.plugin.parameters, as Argo CD encodes it:
// exactly one of its values is there.
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

// addOwn takes a parameter that is for lkeplan itself.
func (r *Request) addOwn(p parameter) (err error) {
	switch p.Name {
	case allowEmpty:
		if p.String == nil {
			return fmt.Errorf("give true or false as string")
		}
		if r.AllowEmpty, err = strconv.ParseBool(*p.String); err != nil {
			return fmt.Errorf("%q is neither true nor false", *p.String)
		}
	case varFiles:
		if p.Array == nil {
			return fmt.Errorf("give the paths of the files as array")
		}
		r.VarFiles = append(r.VarFiles, *p.Array...)
	default:
		return fmt.Errorf("there is none of this name.%s", eval.DidYouMean(p.Name, []string{allowEmpty, varFiles}))
	}
	return nil
}

// addVariable takes a parameter that is the value of a variable. The parts of
// an array or a map are text, and become what the variable's type says.
func (r *Request) addVariable(p parameter) error {
	v := config.Var{Name: p.Name, Source: "parameter " + p.Name}
	switch {
	case p.String != nil:
		v.Value = *p.String
	case p.Array != nil:
		list := cty.ListValEmpty(cty.String)
		if len(*p.Array) > 0 {
			list = cty.ListVal(texts(*p.Array))
		}
		v.Value = syntax.Print(list)
	case p.Map != nil:
		entries := map[string]cty.Value{}
		for key, value := range *p.Map {
			entries[key] = cty.StringVal(value)
		}
		v.Value = syntax.Print(cty.ObjectVal(entries))
	default:
		return fmt.Errorf("it has no value; give string, array or map")
	}
	r.Vars = append(r.Vars, v)
	return nil
}

func texts(values []string) (list []cty.Value) {
	for _, value := range values {
		list = append(list, cty.StringVal(value))
	}
	return list
}

// Below returns how many of the last names of a directory's absolute path are
// also the last names of the Application's path: so far up, the repository
// begins. Argo CD's copy of a repository need not have a .git; of a path given
// by the annotation manifest-generate-paths, it may have only a part.
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
