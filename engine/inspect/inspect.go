// Package inspect looks at a cluster: what is happening in it (status), why something is as it is (why), its nodes as a
// screen shows them (top), and whether all is there that lkeplan needs (doctor).
//
// It changes nothing. Of status, why and top, a Snapshot, prices and a time go in, and a value and text come out; doctor asks
// for lists, reviews and dry runs. It knows no terminal.
package inspect
