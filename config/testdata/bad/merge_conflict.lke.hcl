<<<<<<< HEAD # want: Merge conflict: This is the mark of a merge conflict that nobody has settled. Keep one of the versions, or parts of both, and remove the lines with the marks.
pool "a" {}
=======
pool "b" {}
>>>>>>> change
