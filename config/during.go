package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// annotateDuring replaces the decoded during blocks of an object by the annotation with their values and those of the
// object. Their origins keep their paths.
func annotateDuring(table schemas.Block, said *decode.Result) (diags hcl.Diagnostics) {
	named, _ := said.Fields[schemas.DuringPath].(map[string]any)
	delete(said.Fields, schemas.DuringPath)
	block, possible := schemas.Durings(table.Type)
	if len(named) == 0 || !possible {
		return nil
	}
	at := func(path string) hcl.Range { return said.Origins.Find(schemas.DuringPath + "." + path).Range }
	if len(named) > manifest.MaxDuring {
		last := slices.Sorted(maps.Keys(named))[manifest.MaxDuring]
		return hcl.Diagnostics{diag.At("Too many during blocks", fmt.Sprintf("A %s can have at most %d during blocks, not %d. "+
			"A schedule can name several hours or days: \"0 6,18 * * mon-fri\".", table.Type, manifest.MaxDuring, len(named)),
			at(last))}
	}
	d := manifest.During{Base: map[string]any{}}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		fields, _ := named[name].(map[string]any)
		w := manifest.DuringWindow{Name: name, Set: map[string]any{}}
		w.Schedule, _ = fields["schedule"].(string)
		w.Duration, _ = fields["duration"].(string)
		w.TimeZone, _ = fields["timeZone"].(string)
		for _, path := range pathsOf(block) {
			if value, set := manifest.Field(fields, path); set {
				w.Set[path] = value
			}
		}
		if len(w.Set) == 0 {
			diags = append(diags, diag.At("Empty during block", fmt.Sprintf("The during block %q replaces no argument. Possible "+
				"arguments: %s. A value that is null or empty replaces nothing.", name, strings.Join(switchable(block), ", ")), at(name)))
		}
		if _, set := w.Set[replicasPath]; set && table.Type == schemas.Pool.Type {
			if _, static := manifest.Field(said.Fields, replicasPath); !static {
				diags = append(diags, diag.At("Pool without replicas", fmt.Sprintf("The during block %q sets replicas, and the pool does "+
					"not: a pool cannot switch between a fixed number of nodes and scaling with pods. Set replicas in the pool, too, or "+
					"remove them here.", name), at(name+"."+replicasPath)))
			}
		}
		d.Windows = append(d.Windows, w)
	}
	for _, path := range d.Paths() {
		if value, set := manifest.Field(said.Fields, path); set {
			d.Base[path] = value
		}
	}
	annotated, err := manifest.WithDuring(said.Fields, &d)
	if err != nil {
		return append(diags, diag.At("Invalid during block", err.Error()+".", at("")))
	}
	said.Fields = annotated
	return diags
}

const replicasPath = "spec.replicas"

// pathsOf are the paths of the fields that a during block replaces as a whole.
func pathsOf(block schemas.Block) (paths []string) {
	for _, arg := range block.Args {
		if strings.HasPrefix(arg.Path, "spec.") {
			paths = append(paths, arg.Path)
		}
	}
	for _, nested := range block.Blocks {
		for _, arg := range nested.Args {
			paths = append(paths, nested.Path+"."+arg.Path)
		}
		for _, list := range nested.Blocks {
			paths = append(paths, nested.Path+"."+list.Path)
		}
	}
	return paths
}

// switchable are the arguments and blocks of a during block that replace those of the object.
func switchable(block schemas.Block) (names []string) {
	for _, arg := range block.Args {
		if strings.HasPrefix(arg.Path, "spec.") {
			names = append(names, arg.Name)
		}
	}
	for _, nested := range block.Blocks {
		names = append(names, nested.Type)
	}
	return names
}
