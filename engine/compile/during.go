package compile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/decode"
	"github.com/lkeplan/lkeplan/engine/during"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/schemas"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// checkDuring reports mistakes in the during blocks of an object: schedules, windows that overlap, and values that the
// API server would refuse, in all combinations. It sets the defaults of the fields that the blocks set and the object
// does not, so that the values outside of all windows are known.
func checkDuring(validator *kube.Validator, o *config.Object) (diags hcl.Diagnostics) {
	d, err := manifest.ReadDuring(o.Manifest)
	if err != nil {
		return hcl.Diagnostics{failure("Invalid during block", err)}
	}
	if d == nil {
		return nil
	}
	at := func(path string) decode.Origin { return o.Origins.Find(schemas.DuringPath + "." + path) }
	for _, w := range d.Windows {
		switch err := during.Check(w); {
		case errors.Is(err, during.ErrZone):
			diags = append(diags, at(w.Name+".timeZone").Error("Unknown time zone", err.Error()+"."))
		case errors.Is(err, during.ErrDuration):
			diags = append(diags, at(w.Name+".duration").Error("Invalid duration", err.Error()+"."))
		case err != nil:
			diags = append(diags, at(w.Name+".schedule").Error("Invalid schedule", fmt.Sprintf(
				"%v. Write the schedule of a during block in cron notation, minute first, such as \"0 20 * * mon-fri\".", err)))
		case during.Always(w):
			origin := at(w.Name + ".duration")
			diags = append(diags, origin.Error("During block without an end", fmt.Sprintf("The during block %q is always active: "+
				"with duration %q, it has not ended when schedule %q starts it again. Shorten the duration, or set the values "+
				"outside of the block.", w.Name, w.Duration, w.Schedule)))
		}
	}
	if diags.HasErrors() {
		return diags
	}
	for _, overlap := range during.Overlaps(d) {
		diags = append(diags, at(overlap.Second).Error("Overlapping during blocks", fmt.Sprintf("The during blocks %q and %q both "+
			"set %[3]s, and both are active at %[4]s, for example. Change a schedule or a duration, or set %[3]s in only one of "+
			"the two blocks.", overlap.First, overlap.Second, schemas.Written(o.Addr.Type, overlap.Path),
			overlap.At.Format("15:04 UTC on Monday 2 January 2006"))))
	}
	if diags.HasErrors() {
		return diags
	}
	for _, path := range d.Paths() {
		if parent := path[:strings.LastIndexByte(path, '.')]; parent != "spec" { // with a part of it, the API server sets no defaults for the rest
			if _, written := manifest.Field(o.Manifest, parent); !written {
				value, set := manifest.Field(o.Defaulted, parent)
				o.Manifest = manifest.WithField(o.Manifest, parent, value, set)
			}
		}
		if value, set := manifest.Field(o.Defaulted, path); set {
			d.Base[path] = value
			o.Manifest = manifest.WithField(o.Manifest, path, value, true)
		}
	}
	if o.Manifest, err = manifest.WithDuring(o.Manifest, d); err != nil {
		return hcl.Diagnostics{failure("Invalid during block", err)}
	}
	o.Defaulted, _ = validator.Validate(o.Manifest, nil)
	kube.Share(o.Manifest, o.Defaulted)
	return checkCombinations(validator, *o, d)
}

// checkCombinations validates the object with the values of all windows that may be active at the same time.
func checkCombinations(validator *kube.Validator, o config.Object, d *manifest.During) (diags hcl.Diagnostics) {
	hash, err := plan.TemplateHash(o.Defaulted)
	if err != nil {
		return hcl.Diagnostics{failure("Invalid during block", err)}
	}
	for _, names := range during.Combinations(d) {
		effective := during.With(o.Manifest, d, names...)
		defaulted, errs := validator.Validate(effective, nil)
		for _, err := range errs {
			name := names[0]
			for _, w := range d.Windows {
				for path := range w.Set {
					if strings.HasPrefix(err.Field, path) {
						name = w.Name
					}
				}
			}
			origin := o.Origins.Find(schemas.DuringPath + "." + name + "." + err.Field)
			diags = append(diags, origin.Error("Invalid "+o.Kind(), fmt.Sprintf("With the values of during block %s, the "+
				"object is invalid: %s: %s", strings.Join(names, " and "), err.Field, complaint(err))))
		}
		if len(errs) > 0 {
			return diags // further combinations have the same error
		}
		if changed, err := plan.TemplateHash(defaulted); err != nil || changed != hash {
			return append(diags, failure("Invalid during block", fmt.Errorf("%s has another hash in during block %s; this "+
				"is a bug in lkeplan", o.Addr, strings.Join(names, " and "))))
		}
	}
	return nil
}
