import { openDatabase } from './open.ts'
import { claimNonces } from '../auth/nonces.ts'

/**
 * Run as a program by fault-points.database.test.ts. Makes one change, as a transaction or as one statement. The fault
 * point `committed` kills it after the commit, so the last line is never printed.
 */
const [kind, location, way] = process.argv.slice(2) as ['sqlite' | 'postgres', string, 'write' | 'run']
const database = openDatabase(kind === 'sqlite' ? { kind, path: location } : { kind, url: location })
const row = { claim: Buffer.from(way), expires_at: '2030-01-01T00:00:00Z' }
await database.read.selectFrom('nonces').selectAll().execute()
process.stdout.write('before the write\n')
if (way === 'run') await claimNonces(database, [row])
else await database.write((tx) => tx.query.insertInto('nonces').values(row).execute())
process.stdout.write('after the write\n')
await database.close()
