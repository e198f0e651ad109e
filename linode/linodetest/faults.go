package linodetest

import (
	"github.com/lkeplan/lkeplan/linode/sim"
)

// Faults returns every way in which a call to Linode can fail, by name.
func Faults() map[string]sim.Fault {
	return map[string]sim.Fault{
		"500":         {Status: 500},
		"503 html":    {Status: 503, Body: "<html>no</html>"},
		"429":         {Status: 429},
		"busy":        {Status: 400, Body: "Linode busy."},
		"done, 500":   {Status: 500, AfterWork: true},
		"answer lost": {Lost: true},
		"hangs":       {Hang: true},
		"hangs, done": {Hang: true, AfterWork: true},
	}
}
