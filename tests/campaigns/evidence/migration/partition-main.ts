import { openDatabase } from '../../../../apps/authority/src/database/open.ts'
import { AUDIT } from '../../../../apps/authority/src/database/partitions/audit-partitions.ts'
import { EVIDENCE } from '../../../../apps/authority/src/database/partitions/evidence-partitions.ts'
import { partitionTables } from '../../../../apps/authority/src/database/partitions/partition-tables.ts'

/** Partitions tables of a database as their job does, in a process that the campaign can kill. */
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
const [job = '', url = '', pooler] = process.argv.slice(2)
const set = [AUDIT, EVIDENCE].find((each) => each.job === job)
if (set === undefined) throw new Error(`no job ${job}`)
const database = openDatabase({ kind: 'postgres', url, pooler: pooler === 'transaction' ? 'transaction' : 'none' })
process.send?.('started')
while (!(await partitionTables(database, set)));
await database.close()
process.exit(0)
