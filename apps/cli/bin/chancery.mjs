#!/bin/sh
':' //; exec node -- "$0" "$@"
// The shell runs the line above; JavaScript skips it. Without `--`, Node.js would read an --env-file option of the
// command itself, and exit with its own error if the file is missing.
// This file is committed because npm links a bin only if its target exists during installation.
import '../dist/main.js'
