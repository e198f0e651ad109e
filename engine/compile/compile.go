// Package compile turns a directory of HCL into the objects that it declares: Dir compiles in this process, and
// Child.Compile in a child process, which has limits and no credentials; the result is the same. It validates the
// objects as the API server does, sets defaults, and reports mistakes that no schema detects.
//
// It uses no cluster, and does not determine the effect of a change: package compare does.
package compile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/workqueue"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/config/eval"
	"github.com/lkeplan/lkeplan/config/load"
	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Options are the inputs of Dir in addition to the files.
type Options struct {
	config.Options

	// InRepository means that Dir is the path in a repository. It identifies the directory if its
	// lkeplan block contains no name.
	InRepository bool

	// Root is the location of the file system on disk, for the names of files in messages; "" if
	// unknown.
	Root string `json:"-"`

	// Catalog contains the plans that pools can use, and CatalogFile is its name. Nil selects the
	// catalogue that the files pin: the nearest lkeplan.catalog, in Dir or above it. With both, a
	// plan that is missing is an error. Without them, the built-in catalogue is used, which may be
	// out of date; then that is only a warning.
	Catalog     *catalog.Catalog
	CatalogFile string
}

// Result is a directory that has been compiled and validated. Its JSON contains everything that is
// needed to apply it.
type Result struct {
	config.Compiled                      // the objects with their defaults
	Inventory       string               `json:"-"` // the value of the inventory label; "": the cluster's name
	Ignores         []diag.Ignore        `json:"-"` // comments that silence warnings
	Files           map[string]*hcl.File `json:"-"` // for showing source with diagnostics
	Root            string               `json:"-"` // of Options
	// Catalog is the named or pinned catalogue, and CatalogFile is its name; nil if the built-in
	// catalogue is used.
	Catalog     *catalog.Catalog `json:"catalog,omitempty"`
	CatalogFile string           `json:"catalog_file,omitempty"`
}

// Prices returns the catalogue of the directory, or else the built-in one.
func (c Result) Prices() (*catalog.Catalog, error) {
	if c.Catalog != nil {
		return c.Catalog, nil
	}
	return embedded()
}

// Manifests returns the objects to apply, without defaults: fields that are not written are not
// owned.
func (c Result) Manifests() []map[string]any {
	manifests := make([]map[string]any, len(c.Objects))
	for i, r := range c.Objects {
		manifests[i] = r.Manifest
	}
	return manifests
}

// Dir reads a directory, compiles it and validates the result, without a cluster. If the diagnostics
// contain errors, the result has only the files for showing them, and must not be applied.
func Dir(ctx context.Context, fsys fs.FS, opts Options) (Result, hcl.Diagnostics) {
	return observedDir(ctx, observe(fsys), opts)
}

// observedDir is Dir for files that record which of them are read.
func observedDir(ctx context.Context, files *observed, opts Options) (Result, hcl.Diagnostics) {
	result, diags := compileDir(ctx, files, opts)
	if unreadable := files.unreadable(); unreadable != nil {
		return result, unreadable
	}
	return result, diags
}

// checkDirectory reports a directory that uses the path of another directory in the repository as its
// name: it would own what that directory has applied, and delete it.
func checkDirectory(fsys fs.FS, name, dir string) hcl.Diagnostics {
	name, _, _ = strings.Cut(name, "@") // a repository
	if name == "" || name == path.Clean(dir) || !fs.ValidPath(name) {
		return nil
	}
	entries, err := fs.ReadDir(fsys, name)
	if err != nil || !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return load.Belongs(e.Name()) }) {
		return nil
	}
	return hcl.Diagnostics{diag.Error("Directory of another path", fmt.Sprintf("The lkeplan block of %s names it %q, "+
		"which is another directory in this repository: it would own the objects that were applied from there, and delete "+
		"them. Remove the argument directory, or write a name that is not the path of a configuration.", path.Clean(dir), name))}
}

// CatalogFiles returns the files that can pin the catalogue of a directory, as slash-separated paths:
// lkeplan.catalog in the directory and above it. The first one that exists counts.
func CatalogFiles(dir string) (files []string) {
	for at := path.Clean(dir); fs.ValidPath(at); at = path.Dir(at) {
		files = append(files, path.Join(at, catalog.FileName))
		if at == "." {
			break
		}
	}
	return files
}

// Pinned returns the catalogue that the files pin for a directory, and the path of its file; nil if
// there is none.
func Pinned(fsys fs.FS, dir string) (pinned *catalog.Catalog, file string, err error) {
	for _, file := range CatalogFiles(dir) {
		opened, err := fsys.Open(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, file, err
		}
		defer opened.Close()
		if pinned, err = catalog.Read(opened); err != nil {
			err = fmt.Errorf("%w; write it again with: lkeplan catalog refresh", err)
		}
		return pinned, file, err
	}
	return nil, "", nil
}

// compileDir is Dir. Bad input must end in a diagnostic: if a library panics, the directory is not compiled.
func compileDir(ctx context.Context, fsys fs.FS, opts Options) (result Result, diags hcl.Diagnostics) {
	defer func() {
		if cause := recover(); cause != nil {
			result, diags = Result{}, hcl.Diagnostics{errorDiagnostic("Configuration cannot be compiled", fmt.Errorf(
				"lkeplan, or a library that it uses, fails for this configuration; this is a bug in lkeplan: please report it "+
					"with the configuration: %v", cause))}
		}
	}()
	module, diags := config.Load(fsys, opts.Options)
	result = Result{Files: module.Files, Root: opts.Root, Catalog: opts.Catalog, CatalogFile: opts.CatalogFile}
	if result.Catalog == nil {
		var err error
		if result.Catalog, result.CatalogFile, err = Pinned(fsys, opts.Dir); err != nil {
			diags = append(diags, diag.Error("Invalid catalogue", fmt.Sprintf("%s: %s.", result.CatalogFile, files.Cause(err))))
		}
	}
	if diags.HasErrors() {
		return result, diags // otherwise references to what was not read would cause further errors
	}
	result.Ignores = diag.Ignores(module.Files) // before compiling blocks, which drops the content of files
	var compileDiags hcl.Diagnostics
	result.Compiled, compileDiags = module.Compile()
	if opts.InRepository {
		compileDiags = append(compileDiags, checkDirectory(fsys, result.Directory, opts.Dir)...)
		result.Directory = cmp.Or(result.Directory, path.Clean(opts.Dir))
	}
	diags = slices.Concat(diags, compileDiags, checkPeriods(result.Guards))

	validator := kube.BuiltinValidator()
	invalid := map[config.Addr]bool{}
	for i, v := range validate(ctx, validator, result.Objects) {
		o := &result.Objects[i]
		invalid[o.Addr] = len(v.errs) > 0
		diags = append(diags, explainInvalid(*o, v.errs)...)
		o.Defaulted = v.defaulted
	}
	if err := ctx.Err(); err != nil {
		return result, append(diags, errorDiagnostic("Compilation was stopped", err))
	}
	return result, diag.Append(nil, diag.Sort(append(diags, lintFindings(result, invalid, diags)...))...)
}

// Files compiles files that are in no directory yet. The error means that they could not be written
// to a temporary one.
func Files(ctx context.Context, files []config.File) (Result, hcl.Diagnostics, error) {
	dir, err := os.MkdirTemp("", "lkeplan-")
	if err != nil {
		return Result{}, nil, err
	}
	defer os.RemoveAll(dir)
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
			return Result{}, nil, err
		}
	}
	result, diags := Dir(ctx, os.DirFS(dir), Options{})
	return result, diags, nil
}

// A verdict is the result of validating one object.
type verdict struct {
	defaulted map[string]any
	errs      field.ErrorList
}

// validate checks objects on all processors. It stops early when ctx is done.
func validate(ctx context.Context, validator *kube.Validator, resources []config.Object) []verdict {
	verdicts := make([]verdict, len(resources))
	workqueue.ParallelizeUntil(ctx, runtime.GOMAXPROCS(0), len(resources), func(i int) {
		verdicts[i].defaulted, verdicts[i].errs = validator.Validate(resources[i].Manifest, nil)
		kube.Share(resources[i].Manifest, verdicts[i].defaulted)
	})
	return verdicts
}

func errorDiagnostic(summary string, err error) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: err.Error() + "."}
}

// ofModule names the object of a module: several calls can have the same line.
func ofModule(o config.Object) string {
	if o.Addr.Module == "" {
		return ""
	}
	return fmt.Sprintf(" The object is %s.", o.Addr)
}

// explainInvalid turns the API server's errors about an object into diagnostics at the lines of its fields.
func explainInvalid(r config.Object, errs field.ErrorList) (diags hcl.Diagnostics) {
	for _, err := range errs {
		origin := r.Origins.Find(err.Field)
		detail := inWords(err, fieldProblem(err))
		if plain, ok := plainRules[strings.TrimSuffix(detail, ".")]; ok {
			detail = plain
		} else if pattern, ok := strings.CutPrefix(detail, "should match "); ok && origin.Arg != nil {
			detail = fmt.Sprintf("The argument %s is %#v. %s", origin.Arg.Name, err.BadValue,
				cmp.Or(forms[origin.Arg.Name], "It must match the pattern "+pattern))
		} else if err.Field != "" {
			detail = err.Field + ": " + detail
		}
		diags = append(diags, origin.Error("Invalid "+r.Kind(), detail+ofModule(r)))
	}
	return diags
}

// plainRules are the messages of CRDs that name fields or terms which a configuration does not have, and what they
// mean.
var plainRules = map[string]string{
	"'schedule' must be set with 'duration'": "A budget with a schedule also needs a duration, and a budget with a duration " +
		"also needs a schedule.",
	"only 'limits.nodes' is supported on static NodePools": "In a pool with replicas, limits can contain only the number of nodes, as in " +
		"limits = { nodes = 10 }. Delete the other limits, or replicas.",
	"'weight' is not supported on static NodePools": "A pool with replicas cannot have a weight. Delete weight or replicas.",
	"set at least one of nodes, cpu, memory and monthlyCost": "The block has no limit. Set at least one of nodes, cpu, memory " +
		"and monthly_cost.",
	"cannot set both 'price' and 'priceAdjustment'": "An overlay cannot set both price and price_adjustment. Delete one of them.",
}

// forms are what to write for arguments whose CRD has a pattern.
var forms = map[string]string{
	"schedule": `Write the five fields of cron, in UTC, such as "0 13 * * mon-fri", or a word such as "@daily".`,
	"duration": `Write hours and minutes, such as "8h", "30m" or "1h30m".`,
	"nodes":    `Write a number of nodes, such as "3", or a percentage of the pool from "0%" to "100%".`,
	"price":    `Write dollars per hour, such as "0.25".`,
	"price_adjustment": `Write an amount or a percentage with a sign, such as "+0.05" or "-10%". ` +
		`A percentage cannot be below "-100%".`,
}

// Errors from OpenAPI repeat the path of the field; those from CEL do not.
var pathPrefix = regexp.MustCompile(`^\S+ in body `)

// The message of a CEL rule that refers to a missing field starts with this.
var brokenRule = regexp.MustCompile(`^no such key: \S+ evaluating rule: `)

// fieldProblem explains what is wrong with a field, as a sentence without its subject.
func fieldProblem(err *field.Error) string {
	switch err.Type {
	case field.ErrorTypeRequired:
		return "a value is required."
	case field.ErrorTypeNotSupported:
		return fmt.Sprintf("%q is not a supported value; %s.%s", err.BadValue, err.Detail, didYouMean(err))
	}
	detail := pathPrefix.ReplaceAllString(err.Detail, "")
	detail = strings.TrimSuffix(brokenRule.ReplaceAllString(detail, ""), ".") + "."
	if strings.HasSuffix(detail, " is restricted.") {
		detail += " Only Karpenter and Kubernetes set it: delete it here."
	}
	return detail
}

// inWords explains the pattern of labels and taints, which is hard to read.
func inWords(err *field.Error, detail string) string {
	const name = "letters, digits, dashes, underscores and dots, with a letter or digit at both ends, and 63 characters " +
		"at most"
	text, isText := err.BadValue.(string)
	labelled := strings.Contains(err.Field, "abels") || strings.Contains(err.Field, "aints")
	if !isText || !labelled || !strings.Contains(detail, "should match '") {
		return detail
	}
	if strings.HasSuffix(err.Field, ".key") {
		return fmt.Sprintf("%q cannot be a key: it must consist of %s. A domain can precede it: \"example.com/team\".",
			text, name)
	}
	of := "label"
	if strings.Contains(err.Field, "aints") {
		of = "taint"
	}
	return fmt.Sprintf("%q cannot be the value of a %s: it must consist of %s.", text, of, name)
}

var quoted = regexp.MustCompile(`"([^"]*)"`)

// didYouMean suggests the most similar of the values that an error lists.
func didYouMean(err *field.Error) string {
	var values []string
	for _, m := range quoted.FindAllStringSubmatch(err.Detail, -1) {
		values = append(values, m[1])
	}
	return eval.DidYouMean(fmt.Sprint(err.BadValue), values)
}
