#!/usr/bin/env -S node --
// Without `--`, Node.js would read an --env-file option of the command itself, and exit with its own error if the file is
// missing. From this line npm makes the command on Windows: it must name node, and no shell.
// This file is committed because npm links a bin only if its target exists during installation.
// It uses only syntax that old versions of Node.js can parse, so that they get a sentence and no syntax error.
// A test compares the versions with `engines` of the repository.
var runtime = process.versions
var parts = runtime.node.split('.')
var major = Number(parts[0])
var minor = Number(parts[1])
var isSupported = major > 26 || (major === 26 && minor >= 5) || (major === 24 && minor >= 19)

if (isSupported || runtime.bun !== undefined || runtime.deno !== undefined) {
  import('../dist/main.js').catch(function (error) {
    var isMissing = error !== null && typeof error === 'object' && error.code === 'ERR_MODULE_NOT_FOUND'
    console.error(
      isMissing
        ? 'error: The program is incomplete. Install the package again; in a clone of the repository, run: npm run build'
        : 'error: The program cannot start. Install the package again, or report the defect.',
    )
    process.exitCode = 1
  })
} else {
  console.error(
    'error: chancery needs Node.js 26.5 or later, or 24.19 or later of version 24; this is ' +
      runtime.node +
      '. Install a newer version from https://nodejs.org and run the command again.',
  )
  process.exitCode = 1
}
