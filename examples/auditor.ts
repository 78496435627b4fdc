/**
 * An auditor: it exports the evidence of an authority and trusts only the given keys. Every digest,
 * link and signature is recomputed.
 *
 *   NA_URL, GENESIS   as in node.ts
 *   OPERATOR_KEY      may read the store
 *   EXECUTOR_KEYS     [{key_id, public_key, executor_sovereign_id}], from the executors themselves
 *   EXPORT            file for the exported lines
 */
import { createWriteStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { finished } from 'node:stream/promises'
import { AnchorChecker, StoreChecker } from '@chancery/protocol'
import { createAuthorityClient } from '@chancery/sdk/authority'
import { readGenesisFile, readSignerFile } from '@chancery/sdk/nodejs'

const { NA_URL = 'http://127.0.0.1:8443', GENESIS = 'genesis.json', OPERATOR_KEY = 'operator.key' } = process.env
const { EXECUTOR_KEYS = 'executor-keys.json', EXPORT = 'evidence.jsonl' } = process.env

interface ExecutorKey {
  readonly key_id: string
  readonly public_key: string
  readonly executor_sovereign_id: string
}

const genesis = await readGenesisFile(GENESIS)
const authorityKey = genesis.network_authority.public_key
const executors = JSON.parse(await readFile(EXECUTOR_KEYS, 'utf8')) as readonly ExecutorKey[]
const client = createAuthorityClient({
  url: NA_URL,
  operator: { signer: await readSignerFile(OPERATOR_KEY), audience: authorityKey },
})

// Signed heads of the store. Put anchors from earlier audits first: they prove that no entry was changed since then.
const { anchors: signed } = await client.evidence.anchors()
const anchors = await AnchorChecker.open(signed, [authorityKey], genesis.network_name)
const checker = new StoreChecker({
  scope: 'store',
  anchors,
  keys: { authority: [authorityKey], executor: (id) => executors.find(({ key_id }) => key_id === id) },
})

// Reads line by line, so memory use does not depend on the length of the store.
const file = createWriteStream(EXPORT, { mode: 0o600 })
for await (const line of client.evidence.export()) {
  await checker.add(line)
  file.write(`${line}\n`)
}
file.end()
await finished(file)

const report = await checker.finish()
console.log(`${report.checked_entries} entries, ${report.decisions} decisions, ${report.executions} executions`)
for (const { store_sequence, reason, detail } of report.failures)
  console.log(`entry ${store_sequence}: ${reason} ${detail}`)
console.log(report.failures.length === 0 ? 'all entries are valid' : `${report.failures.length} failures`)
process.exitCode = report.failures.length === 0 ? 0 : 1
