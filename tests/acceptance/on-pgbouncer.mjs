// Starts an authority through a separate PgBouncer in transaction mode, from a settings file with the DATABASE_URL of
// a server without a password. node tests/acceptance/on-pgbouncer.mjs FILE.env
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startTemporaryPgBouncer } from '../../packages/testkit/dist/temporary-pgbouncer.js'

const envFile = process.argv[2] ?? ''
const lines = readFileSync(envFile, 'utf8').split('\n')
const direct = lines.find((line) => line.startsWith('DATABASE_URL=postgres'))?.slice('DATABASE_URL='.length)
let settingsFile = envFile
let bouncer
// Settings without PostgreSQL stay unchanged: the start is refused, as the kit expects.
if (direct !== undefined && URL.canParse(direct)) {
  bouncer = await startTemporaryPgBouncer({ port: Number(new URL(direct).port || 5432) })
  const kept = lines.filter((line) => !line.startsWith('DATABASE_URL='))
  const pooled = bouncer.through(direct)
  const added = `DATABASE_URL=${pooled}${pooled.includes('?') ? '&' : '?'}pooler=transaction`
  settingsFile = `${envFile}.pooled`
  writeFileSync(settingsFile, [...kept, added, ''].join('\n'), { mode: 0o600 })
}
// Not through npx, which does not pass signals on.
const program = join(import.meta.dirname, '../../node_modules/.bin/chancery')
const child = spawn(program, ['authority', 'start', '--env-file', settingsFile], { stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal))
child.on('exit', (code) => {
  const leave = () => process.exit(code ?? 1)
  if (bouncer === undefined) leave()
  else bouncer.stop().then(leave, leave)
})
