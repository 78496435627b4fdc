// npm leaves out of the lock file what a registry does not carry, and `npm ci` then refuses the file: adds an entry for
// every optional dependency of another platform. Such entries are never fetched here. Run after `npm install`, for the
// lock file of another folder with its name: `node tools/release/complete-lock.mjs site`.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const SYSTEMS = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32']
const PROCESSORS = ['arm64', 'x64', 'arm', 'ia32', 'ppc64', 'riscv64', 's390x', 'loong64', 'mips64el', 'wasm32']

const file = join(process.argv[2] ?? '.', 'package-lock.json')
const lock = JSON.parse(readFileSync(file, 'utf8'))
for (const entry of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const place = `node_modules/${name}`
    if (lock.packages[place] !== undefined) continue
    const words = name.split('/').at(-1).split('-')
    const pick = (known) => known.filter((word) => words.includes(word)).slice(0, 1)
    // Without a system in its name a package is for none: it must not be fetched either.
    const [os, cpu] = [pick(SYSTEMS), pick(PROCESSORS)]
    const libc = words.some((word) => word.startsWith('musl')) ? { libc: ['musl'] } : {}
    const facts = {
      version: version.replace(/^[\^~]/, ''),
      cpu: cpu.length > 0 ? cpu : ['none'],
      dev: true,
      optional: true,
      os: os.length > 0 ? os : ['none'],
      ...libc,
    }
    lock.packages[place] = facts
  }
}
const sorted = Object.keys(lock.packages).sort((a, b) => (a < b ? -1 : 1))
lock.packages = Object.fromEntries(sorted.map((place) => [place, lock.packages[place]]))
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
