import { systemClock } from '@chancery/service-kit'
import { migrate } from './migrate.ts'
import { type DatabaseLocation, openDatabase } from './open.ts'
import { claimNonces } from '../auth/nonces.ts'

/** The other process of database.suite.ts; not a separate suite. */
type Question = { readonly do: 'migrate' } | { readonly do: 'claim'; readonly claims: readonly string[] }

const place = JSON.parse(process.argv[2] ?? '{}') as DatabaseLocation
const database = openDatabase(place)

async function answer(question: Question): Promise<object> {
  if (question.do === 'migrate') {
    await migrate(database, () => systemClock.now())
    return { ok: true }
  }
  const expires_at = '2030-01-01T00:00:00.000000Z'
  const rows = question.claims.map((hex) => ({ claim: Buffer.from(hex, 'hex'), expires_at }))
  return { won: (await Promise.all(rows.map((row) => claimNonces(database, [row])))).flat() }
}

process.on('message', (question: Question) => {
  answer(question).then(
    (result) => process.send?.(result),
    (error: unknown) => process.send?.({ error: String(error) }),
  )
})
process.on('disconnect', () => void database.close().then(() => process.exit(0)))
process.send?.({ started: true })
