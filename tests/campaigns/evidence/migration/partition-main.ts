import { openDatabase } from '../../../../apps/authority/src/database/open.ts'
import { partitionEvidence } from '../../../../apps/authority/src/database/partitions/partition-evidence.ts'

/** Partitions the table of a database as the job evidence-partitions does, in a process that the campaign can kill. */
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
const [url = '', pooler] = process.argv.slice(2)
const database = openDatabase({ kind: 'postgres', url, pooler: pooler === 'transaction' ? 'transaction' : 'none' })
process.send?.('started')
while (!(await partitionEvidence(database)));
await database.close()
process.exit(0)
