import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { copySources } from './lib/release-trees.ts'

/**
 * Breaks the product on purpose, one line at a time, in a copy of these sources. The named test or campaign must find
 * each fault: one that passes proves nothing.
 *
 *   node --conditions=development tests/campaigns/twenty-faults.ts [PART-OF-NAME] [--list]
 */
interface Fault {
  readonly name: string
  readonly file: string
  /** Must be there once. */
  readonly from: string
  readonly to: string
  readonly finds: Finder
}

type Finder = readonly [test: 'packages' | 'sqlite', file: string] | readonly [campaign: 'campaign', ...args: string[]]

const PROTOCOL = 'packages/protocol/src'
const AUTHORITY = 'apps/authority/src'
const GATEWAY = 'apps/gateway/src'

const FAULTS: readonly Fault[] = [
  {
    name: 'signature: a feed of a partner is imported without verifying it',
    file: `${AUTHORITY}/features/revocation-feeds/import.ts`,
    from: 'if (!(await isSigned(signed, supplied ?? { any: pinned })))',
    to: 'if (!(await isSigned(signed, supplied ?? { any: pinned })) && signed.signatures.length === 0)',
    finds: ['campaign', 'federation-model', '--count', '100', '--seed', '1'],
  },
  {
    name: 'signature: points of small order are accepted',
    file: `${PROTOCOL}/signing/keys.ts`,
    from: 'bytes.length === 32 && isReducedY(bytes) && !isSmallOrder(bytes)',
    to: 'bytes.length === 32 && isReducedY(bytes) && (true || !isSmallOrder(bytes))',
    finds: ['packages', `${PROTOCOL}/signing/keys.test.ts`],
  },
  {
    name: 'revocation: what the last list names is trusted',
    file: `${PROTOCOL}/trust/evaluate-certificate.ts`,
    from: 'if (known !== undefined) findings.push',
    to: 'if (known?.withdrawn === true) findings.push',
    finds: ['packages', `${PROTOCOL}/trust/evaluate-certificate.test.ts`],
  },
  {
    name: 'revocation: a compromised key keeps its other certificates',
    file: `${AUTHORITY}/features/crl/revocation.ts`,
    from: "if (reason === 'key_compromise' || !onlyThis) {",
    to: "if (reason !== 'key_compromise' && !onlyThis) {",
    finds: ['sqlite', `${AUTHORITY}/features/crl/revoke-compromise.test.ts`],
  },
  {
    name: 'replay: the nonce of an operator is not spent',
    file: `${AUTHORITY}/auth/operator.ts`,
    from: 'await spendNonce(call, parts, credentials, signedAt)\n  noteCaller',
    to: 'noteCaller',
    finds: ['campaign', 'replay', '--count', '2'],
  },
  {
    name: 'replay: a gateway takes a request proof twice',
    file: `${GATEWAY}/quota/local-quota.ts`,
    from: "if (this.#proofs.isSpent(proof)) return 'replayed'",
    to: 'this.#proofs.isSpent(proof)',
    finds: ['packages', `${GATEWAY}/quota/spent-proofs.test.ts`],
  },
  {
    name: 'clock: a node proof dated ahead is accepted',
    file: `${PROTOCOL}/proofs/node-proof.ts`,
    from: 'if (age > CLOCK_TOLERANCE || age < -CLOCK_TOLERANCE)',
    to: 'if (age > CLOCK_TOLERANCE)',
    finds: ['packages', `${PROTOCOL}/proofs/node-proof.test.ts`],
  },
  {
    name: 'clock: skew extends the end of a list',
    file: `${PROTOCOL}/trust/revocation-list.ts`,
    from: 'now >= list.nextUpdate)',
    to: 'now >= list.nextUpdate + clockSkew)',
    finds: ['packages', `${PROTOCOL}/trust/revocation-list.test.ts`],
  },
  {
    name: 'database: the response is stored after the commit that it describes',
    file: `${AUTHORITY}/requests/idempotency.ts`,
    from: 'if (attempt !== undefined) await storeResponse(tx, attempt, answer)',
    to: 'if (attempt !== undefined) setTimeout(() => void storeResponse(tx, attempt, answer).catch(() => undefined), 5)',
    finds: ['sqlite', `${AUTHORITY}/requests/idempotency.database.test.ts`],
  },
  {
    name: 'idempotency: another body under the same key is taken',
    file: `${AUTHORITY}/requests/idempotency.ts`,
    from: 'if (row === undefined || row.body_digest !== attempt.bodyDigest)',
    to: 'if (row === undefined)',
    finds: ['sqlite', `${AUTHORITY}/requests/idempotency.database.test.ts`],
  },
  {
    name: 'evidence: an entry does not name the one before it',
    file: `${PROTOCOL}/evidence/read-event.ts`,
    from: 'prev_entry_digest: head.entry_digest,',
    to: 'prev_entry_digest: null,',
    finds: ['sqlite', `${AUTHORITY}/features/evidence/append.database.test.ts`],
  },
  {
    name: 'evidence: a broken chain is not reported',
    file: `${PROTOCOL}/evidence/check-store.ts`,
    from: 'last.digest !== undefined && link !== last.digest)',
    to: 'last.digest === undefined && link !== last.digest)',
    finds: ['packages', `${PROTOCOL}/evidence/check-store.test.ts`],
  },
  {
    name: 'Merkle: nodes of the log are hashed like leaves',
    file: `${PROTOCOL}/evidence-log/tree.ts`,
    from: 'bytes[0] = 1',
    to: 'bytes[0] = 0',
    finds: ['campaign', 'merkle', '--case', 'log', '--count', '20'],
  },
  {
    name: 'Merkle: the leaf of a disclosed capability is not computed again',
    file: `${PROTOCOL}/disclosure/verify-disclosure.ts`,
    from: "proof.revealed_capability !== '' &&\n    proof.leaf_hash === disclosedLeaf(proof)",
    to: "proof.revealed_capability !== '' &&\n    disclosedLeaf(proof) !== ''",
    finds: ['campaign', 'merkle', '--case', 'capabilities', '--count', '400'],
  },
  {
    name: 'feeds: one with the stored sequence is imported again',
    file: `${AUTHORITY}/features/revocation-feeds/store-imported.ts`,
    from: 'last !== undefined && sequence <= last.sequence)',
    to: 'last !== undefined && sequence < last.sequence)',
    finds: ['campaign', 'federation-model', '--count', '100', '--seed', '1'],
  },
  {
    name: 'succession: a former key signs for every time',
    file: `${PROTOCOL}/artifacts/key-history.ts`,
    from: 'return instantOf(key.valid_from) <= at && at < instantOf(key.valid_to)',
    to: 'return instantOf(key.valid_from) <= at || at < instantOf(key.valid_to)',
    finds: ['packages', `${PROTOCOL}/artifacts/key-history.test.ts`],
  },
  {
    name: 'quota: the last call of a gateway caller may cost more than is left',
    file: `${GATEWAY}/quota/local-quota.ts`,
    from: 'if (window.used + cost > limit)',
    to: 'if (window.used > limit)',
    finds: ['packages', `${GATEWAY}/quota/quota.test.ts`],
  },
  {
    name: 'audit: the event of a revocation is not in its transaction',
    file: `${AUTHORITY}/features/crl/revocation.ts`,
    from: 'await parts.audit.recordAll(tx, events)\n  return published',
    to: 'return published',
    finds: ['sqlite', `${AUTHORITY}/features/crl/revoke.test.ts`],
  },
  {
    name: 'rate limit: one hit more than the limit',
    file: 'packages/service-kit/src/rate-limit/memory.ts',
    from: 'return this.used(nowMs) >= limit',
    to: 'return this.used(nowMs) > limit',
    finds: ['packages', 'packages/service-kit/src/rate-limit/memory.test.ts'],
  },
  {
    name: 'pages: the text of a caller opens a tag',
    file: 'packages/service-kit/src/http/html.ts',
    from: "'<': '&lt;',",
    to: "'<': '<',",
    finds: ['packages', 'packages/service-kit/src/http/html.test.ts'],
  },
]

const MAX_MS = 600_000

const { values, positionals } = parseArgs({ allowPositionals: true, options: { list: { type: 'boolean' } } })
const chosen = FAULTS.filter(({ name }) => name.includes(positionals[0] ?? ''))
if (values.list === true) for (const { name, finds } of chosen) console.log(`${name}: ${finds.join(' ')}`)
else process.exitCode = await tryAll()

/** Returns 0 when every fault is found. */
async function tryAll(): Promise<number> {
  const settings = ['vitest.config.ts', 'tsconfig.build.json', 'tsconfig.check.json']
  const tree = await copySources(['tests', 'bench', 'tools', ...settings, 'deploy', 'docs'])
  const missed: string[] = []
  try {
    for (const fault of chosen) {
      const started = performance.now()
      const problem = tryFault(tree.folder, fault)
      if (problem !== undefined) missed.push(fault.name)
      console.log(`${problem ?? 'found'}: ${fault.name} (${Math.round((performance.now() - started) / 1000)} s)`)
    }
  } finally {
    await tree.remove()
  }
  console.log(`${chosen.length - missed.length} of ${chosen.length} faults are found`)
  return missed.length === 0 ? 0 : 1
}

/** Returns why the fault counts as not found. */
function tryFault(folder: string, { file, from, to, finds }: Fault): string | undefined {
  const path = join(folder, file)
  const source = readFileSync(path, 'utf8')
  if (source.split(from).length !== 2) return `${file} does not have the line once`
  writeFileSync(
    path,
    source.replace(from, () => to),
  )
  try {
    const [kind, ...args] = finds
    const run = kind === 'campaign' ? ['tests/campaigns/run.ts', ...args] : testOf(kind, args)
    const options = { cwd: folder, encoding: 'utf8', timeout: MAX_MS, maxBuffer: 1 << 26 } as const
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--conditions=development', ...run], options)
    // A module that does not load fails, too, and finds nothing.
    const isFound = kind === 'campaign' ? /"violations":[1-9]/.test(stdout) : /\bTests\b.*\bfailed\b/.test(stdout)
    if (status !== 0 && isFound) return undefined
    return `not found, ended with ${status}: ${`${stdout}${stderr}`.slice(-400)}`
  } finally {
    writeFileSync(path, source)
  }
}

function testOf(project: string, files: readonly string[]): readonly string[] {
  return ['node_modules/vitest/vitest.mjs', 'run', '--project', project, '--maxWorkers', '1', ...files]
}
