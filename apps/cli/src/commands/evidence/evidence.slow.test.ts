// oxlint-disable max-lines -- one authority and its log for all commands of the store
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import {
  cosignedAt,
  executionEvidenceForm,
  fromBase64,
  hashLeaf,
  openCheckpoint,
  readNote,
  signForm,
  verifyInclusion,
  writeLogKey,
  writePrivateKeyFile,
  writePublicKeyFile,
} from '@chancery/protocol'
import type { BoundaryDecision, ExecutionEvidence } from '@chancery/protocol'
import { accepted, testSeed, testSigner } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

const SETTINGS = { EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '0' }
let network = undefined as unknown as RealNetwork
beforeAll(async () => {
  network = await openNetwork(SETTINGS)
  const executor = await testSigner('rotator-1')
  await writeFile(network.setup.path('rotator.pub'), writePublicKeyFile(executor.publicKey, 'rotator-1'))
  await writeFile(network.setup.path('witness.key'), writePrivateKeyFile(testSeed('witness'), 'witness.example'), {
    mode: 0o600,
  })
  const line = 'evidence key add rotator-1 --key rotator.pub --executor rotator'
  await succeed(line)
  await execute(network, await decide(network))
  await decide(network)
  await network.na.features.evidenceLog.append()
})
afterAll(() => network.close())

/** A decision of the authority about a member who may rotate secrets. */
async function decide({ na }: RealNetwork): Promise<BoundaryDecision> {
  const request = { subject_id: 'vendor-1', roles: ['role:client'], claims: { capabilities: ['secret.rotate'] } }
  const { attestation_id } = accepted(await na.as('privileged')('POST', '/admin/attestations', request), 201)
  const asked = { attestation_id: attestation_id ?? null, requested_capability: 'secret.rotate' }
  const answer = accepted(await na.as('standard')('POST', '/admin/boundary/evaluate', asked), 201)
  return answer['decision'] as unknown as BoundaryDecision
}

async function execute({ na }: RealNetwork, decision: BoundaryDecision): Promise<ExecutionEvidence> {
  const draft: ExecutionEvidence = {
    evidence_id: `evidence-of-${decision.decision_id}`,
    sequence_no: 1,
    decision_id: decision.decision_id,
    context_id: decision.context_id,
    agreement_id: decision.agreement_id,
    executor_sovereign_id: 'rotator',
    executed_capability: 'secret.rotate',
    execution_parameters: { secret_version: '7' },
    executed_at: decision.decision_made_at,
    outcome: 'success',
    outcome_detail: null,
    prev_evidence_digest: null,
    resource_id: 'kv/api',
    resource_action: 'rotate',
    resource_sequence: 1,
    signature: null,
  }
  const evidence = await signForm(executionEvidenceForm, draft, await testSigner('rotator-1'))
  accepted(await na.request('POST', '/evidence/execution', { body: { evidence } }), 201)
  return evidence
}

/** Runs a command that must succeed; gives what it printed. */
async function succeed(line: string): Promise<string> {
  const { code, stdout, stderr } = await network.asOperator(line)
  if (code !== 0) throw new Error(stderr)
  return stdout
}

const file = (name: string): Promise<string> => readFile(network.setup.path(name), 'utf8')

describe('status and search', () => {
  it('show what is stored', async () => {
    const status = await network.asOperator('status')
    expect(status.code).toBe(0)
    expect(status.stdout).toMatch(/entries +5/)
    const found = await network.asOperator('evidence list --resource kv/api')
    expect(found.stdout).toMatch(/3 .* execution .* success .* vendor-1 .* secret.rotate .* kv\/api/)
    expect((await network.asOperator('evidence list --vendor unknown')).stdout).toContain('Nothing found.')
    const page = await network.asOperator('evidence list --limit 2')
    expect(page.stdout).toContain('More: add --after 2')
  })
})

describe('evidence export and verify', () => {
  let anchored = ''
  let exported = ''
  beforeAll(async () => {
    anchored = await succeed('evidence anchor --out anchors')
    exported = await succeed('evidence export --out all.jsonl')
    const keys = await network.asOperator('evidence key list --json')
    await writeFile(network.setup.path('keys.json'), keys.stdout)
  })

  const FLAGS = '--home operator --anchors anchors --executor-keys keys.json'

  it('verify without the authority', async () => {
    expect(anchored).toContain('Anchored through entry 5 (anchor 1).')
    expect(exported).toContain('Exported 5 entries to ./all.jsonl.')
    expect(await readdir(network.setup.path('anchors'))).toEqual(['anchor-00000001.json'])
    const { code, stdout } = await network.run(`verify all.jsonl ${FLAGS} --url http://127.0.0.1:9`)
    expect(stdout).toContain('Verified: all.jsonl contains 5 entries, 2 decisions, 1 execution; all are valid.')
    expect(code).toBe(0)
    expect(stdout).not.toContain('Not proven')
  })

  it('say what is not proven: the end of a store without anchors, and everything for an empty file', async () => {
    await writeFile(
      network.setup.path('cut.jsonl'),
      `${(await file('all.jsonl')).split('\n').slice(0, 2).join('\n')}\n`,
    )
    const line = '--home operator --executor-keys keys.json'
    const cut = await network.run(`verify cut.jsonl ${line}`)
    expect([cut.code, cut.stdout]).toEqual([0, expect.stringContaining('Not proven: that the store has no other')])
    expect((await network.run(`verify cut.jsonl ${line} --json`)).json()['unproven']).toEqual(['later_entries'])
    expect((await network.run(`verify cut.jsonl ${FLAGS}`)).code).toBe(1)
    await writeFile(network.setup.path('empty.jsonl'), '')
    const empty = await network.run(`verify empty.jsonl ${line} --json`)
    expect([empty.code, empty.json()]).toMatchObject([2, { verified: false, checked_entries: 0 }])
  })

  it('print a command that verifies the export as printed, with the executor keys saved next to it', async () => {
    const hint = /^Verify it: chancery (.+)$/m.exec(exported)?.[1] ?? ''
    expect(hint).toBe('verify ./all.jsonl --with ./all.jsonl.keys.json --home operator')
    expect((await network.run(hint)).stdout).toContain('Verified: ./all.jsonl contains 5 entries')
    const part = await succeed('evidence export --out part.jsonl --after 2')
    expect(part).toContain('It begins with entry 3.')
    expect(part).not.toContain('chancery verify')
    const [text, changed] = [await file('part.jsonl.keys.json'), 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=']
    const other = text.replace(/"public_key":"[^"]+"/, `"public_key":"${changed}"`)
    await writeFile(network.setup.path('part.jsonl.keys.json'), other)
    const again = await network.asOperator('evidence export --out part.jsonl --resume')
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('has another executor key "rotator-1"')])
    expect(await file('part.jsonl.keys.json')).toBe(other)
  })

  it('say in one sentence that a file is no export, and that an export is of another network', async () => {
    await writeFile(network.setup.path('notes.jsonl'), '{"line":1}\n'.repeat(80))
    const notes = await network.run(`verify notes.jsonl ${FLAGS}`)
    expect([notes.code, notes.stdout]).toEqual([1, ''])
    expect(notes.stderr).toContain('is not an evidence export: no line of it is an entry.')
    const key = network.genesis.network_authority.public_key
    const other = await network.run(`verify all.jsonl --key ${key} --network OTHER-NET`)
    expect([other.code, other.stdout]).toEqual([1, ''])
    expect(other.stderr).toContain('its decisions name TEST-NET, and you trust OTHER-NET')
    const stranger = (await testSigner('na-test', 'stranger')).publicKey
    const sameName = `verify all.jsonl --key ${stranger} --network TEST-NET --with keys.json`
    const { code, stdout } = await network.run(sameName)
    expect([code, stdout.trim().split('\n').length]).toEqual([1, 2])
    expect(stdout).toContain('no decision in all.jsonl is signed by a key of the given network')
  })

  it('refuse a folder without anchors', async () => {
    await mkdir(network.setup.path('empty'))
    await mkdir(network.setup.path('other'))
    await writeFile(network.setup.path('other/notes.txt'), 'no anchor')
    await writeFile(network.setup.path('other/page.json'), '{"anchors":[]}')
    for (const folder of ['empty', 'other']) {
      const line = `evidence verify all.jsonl ${FLAGS.replace('--anchors anchors', `--anchors ${folder}`)}`
      const { code, stderr, stdout } = await network.run(line)
      expect([code, stdout]).toEqual([2, ''])
      expect(stderr).toContain(`--anchors ./${folder}: this folder contains no anchor.`)
      expect(stderr).toContain('chancery evidence anchor --out FOLDER')
    }
  })

  it('take keys by flag, and verify no execution without them', async () => {
    const key = network.genesis.network_authority.public_key
    const line = `verify all.jsonl --key ${key} --network TEST-NET`
    const without = await network.run(line)
    expect([without.code, without.stdout]).toEqual([
      1,
      'Not verified in full: the executor keys are missing, so 1 execution was not verified. Everything else in its 5 ' +
        'entries is sound.\nGive --executor-keys with a file made by: chancery evidence key list --json\n',
    ])
    expect((await network.run(`${line} --json`)).json()).toMatchObject({
      verified: false,
      failures: [],
      executions_not_judged: 1,
      missing: 'executor_keys',
    })
    await writeFile(network.setup.path('nobody.json'), '{"executor_keys":[]}')
    const otherKey = await network.run(`${line} --executor-keys nobody.json`)
    expect(otherKey.stdout).toContain('the first problem is at entry 3 (invalid_signature)')
    expect((await network.run(`${line} --executor-keys keys.json`)).code).toBe(0)
    expect((await network.run('verify all.jsonl')).stderr).toContain('The authority of this store is unknown.')
  })

  it.each<[string, (lines: readonly string[]) => readonly string[], string]>([
    [
      'a changed parameter',
      (lines) => lines.map((line) => line.replace('"secret_version":"7"', '"secret_version":"8"')),
      'entry 3 (payload_digest_mismatch)',
    ],
    [
      'a changed envelope',
      (lines) => lines.map((line) => line.replace('"vendor_id":"vendor-1"', '"vendor_id":"vendor-2"')),
      'entry 1 (entry_digest_mismatch)',
    ],
    [
      'another spelling',
      (lines) => lines.map((line, at) => (at === 1 ? ` ${line}` : line)),
      'entry 2 (entry_digest_mismatch)',
    ],
    ['a missing entry', (lines) => lines.filter((_, at) => at !== 2), 'entry 4 (store_sequence_gap)'],
    [
      'two entries exchanged',
      ([a = '', b = '', c = '', ...rest]) => [a, c, b, ...rest],
      'entry 3 (store_sequence_gap)',
    ],
    ['a missing beginning', (lines) => lines.slice(1), 'entry 2 (store_sequence_gap)'],
    ['a missing end', (lines) => lines.slice(0, 4), 'entry 5 (export_ends_before_anchor)'],
  ])('name the first bad entry: %s', async (_name, edit, place) => {
    const lines = (await file('all.jsonl')).split('\n').slice(0, -1)
    await writeFile(network.setup.path('forged.jsonl'), `${edit(lines).join('\n')}\n`)
    const { code, stdout } = await network.run(`verify forged.jsonl ${FLAGS}`)
    expect(stdout).toContain(`the first problem is at ${place}`)
    expect(code).toBe(1)
  })

  it('begin behind a retention checkpoint', async () => {
    const old = await openNetwork(SETTINGS)
    try {
      await decide(old)
      old.clock.advance(3 * 86_400)
      await decide(old)
      const dry = await old.asOperator('evidence prune --older-than 1d --dry-run')
      expect(dry.stdout).toContain('Would remove 2 entries, through 2. The next entry is not old enough.')
      const asked = await old.asOperator('evidence prune --older-than 1d')
      expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining('add --yes')])
      const done = await old.asOperator('evidence prune --older-than 1d --yes --out boundary.json')
      expect(done.stdout).toContain('Removed 2 entries, through 2.')
      await old.asOperator('evidence export --out rest.jsonl')
      const verified = await old.asOperator('verify rest.jsonl --with boundary.json')
      expect(verified.stdout).toContain('3 entries')
      expect(verified.code).toBe(0)
      expect((await old.asOperator('evidence prune --older-than 1d --yes')).stdout).toContain(
        'Nothing was removed. The next entry is not old enough.',
      )
    } finally {
      await old.close()
    }
  })
})

describe('evidence receipt --form inclusion', () => {
  it('gives a proof that verifies by itself', async () => {
    const { code, stdout } = await network.asOperator('evidence receipt --form inclusion 3 --out proof.json')
    expect([code, stdout]).toEqual([0, expect.stringContaining('Proved: entry 3 is in the log of 5 entries.')])
    const proof = JSON.parse(await file('proof.json')) as {
      origin: string
      entry_digest: string
      proof: string[]
      checkpoint: string
    }
    const opened = await openCheckpoint(proof.checkpoint, proof.origin, network.genesis.network_authority.public_key)
    expect(
      verifyInclusion({
        index: 2,
        size: opened?.size ?? 0,
        leafHash: hashLeaf(Buffer.from(proof.entry_digest, 'hex')),
        root: opened?.root ?? new Uint8Array(),
        proof: proof.proof.map((hash) => fromBase64(hash) ?? new Uint8Array()),
      }),
    ).toBe(true)
  })

  it('does not prove what is not there', async () => {
    const wrong = await network.asOperator(`evidence prove 3 --digest ${'0'.repeat(64)}`)
    expect([wrong.code, wrong.stderr]).toEqual([
      1,
      expect.stringContaining('does not contain this entry at sequence 3'),
    ])
    expect((await network.asOperator(`evidence prove 99 --digest ${'0'.repeat(64)}`)).stderr).toContain(
      'is not covered yet',
    )
    expect((await network.asOperator('evidence receipt --form inclusion 99')).stderr).toContain('has no entry 99')
    expect((await network.asOperator('evidence receipt --form inclusion 0')).code).toBe(2)
  })
})

describe('evidence witness', () => {
  const line = 'evidence witness --state seen.log --key witness.key --out cosigned.txt'

  it('keeps what it saw, follows the log and cosigns', async () => {
    const unknown = await network.asOperator(line)
    expect([unknown.code, unknown.stderr.includes('would cosign any history')]).toEqual([1, true])
    expect((await network.asOperator(`${line} --init`)).stdout).toContain(
      'has 5 entries, first seen. Saved and cosigned.',
    )
    expect((await network.asOperator(`${line} --init`)).stderr).toContain('exists already')
    const lock = new DatabaseSync(network.setup.path('seen.log.lock'))
    lock.exec('begin exclusive')
    expect((await network.asOperator(line)).stderr).toContain('another run of this witness may be active')
    lock.close()
    await decide(network)
    await network.na.features.evidenceLog.append()
    expect((await network.asOperator(line)).stdout).toContain('has 7 entries, grown from 5.')
    const witness = await testSigner('witness.example', 'witness')
    const note = readNote(await file('cosigned.txt'))
    if (note === undefined) throw new Error('a note')
    expect(await cosignedAt(note, 'witness.example', witness.publicKey)).toBe(1_893_553_200)
  })

  it('shouts when history was rewritten, keeps both notes and does not cosign', async () => {
    // The same authority, by name and key, with another past.
    const other = await openNetwork(SETTINGS)
    try {
      for (let count = 0; count < 5; count += 1) await decide(other)
      await other.na.features.evidenceLog.append()
      const before = [await file('seen.log'), await file('cosigned.txt')]
      const caught = await network.asOperator(`${line} --url ${other.na.url}`)
      expect(caught.code).toBe(1)
      expect(caught.stderr).toContain('THE LOG WAS REWRITTEN')
      expect([await file('seen.log'), await file('cosigned.txt')]).toEqual(before)
      const fork = (await readdir(network.setup.path('.'))).find((name) => name.startsWith('seen.log.fork-10-'))
      expect(await file(fork ?? '')).toContain('\n10\n')
      // A witness without its state does not replace the note of the first history either.
      const anew = `evidence witness --state new.log --out cosigned.txt --url ${other.na.url}`
      expect((await network.asOperator(anew)).stderr).toContain('THE LOG WAS REWRITTEN')
      expect(await file('cosigned.txt')).toBe(before[1])
      const beside = await network.asOperator('evidence witness --state new.log --out witness.key')
      expect([beside.code, beside.stderr]).toEqual([1, expect.stringContaining('is not a checkpoint')])
    } finally {
      await other.close()
    }
  })

  it('refuses a log that shrank, and a state it cannot read', async () => {
    const small = await openNetwork(SETTINGS)
    try {
      await decide(small)
      await small.na.features.evidenceLog.append()
      const caught = await network.asOperator(`${line} --url ${small.na.url}`)
      expect(caught.stderr).toContain('THE LOG WAS REWRITTEN')
      await writeFile(network.setup.path('broken.log'), '{}')
      const broken = await network.asOperator('evidence witness --state broken.log')
      expect(broken.stderr).toContain('is not the state of a witness')
    } finally {
      await small.close()
    }
  })
})

describe('evidence witnesses', () => {
  it('says what to do before the first checkpoint', async () => {
    // With the store the job would sign one meanwhile.
    const empty = await openNetwork({ EVIDENCE_STORE: 'off' })
    const { code, stderr } = await empty.asOperator('evidence witnesses')
    expect([code, stderr]).toEqual([1, expect.stringContaining('has no checkpoint yet')])
    expect(stderr).toContain('EVIDENCE_STORE=on')
    expect(stderr).not.toContain('not_found')
    await empty.close()
  })

  it('writes no policy with a key of the log that the authority did not sign', async () => {
    const { publicKey } = await testSigner('log', 'a thief')
    const proxy = createServer((request, response) => {
      void (async () => {
        const { method = 'GET', headers, url = '' } = request
        const answer = await fetch(`${network.na.url}${url}`, { method, headers: headers as Record<string, string> })
        const text = await answer.text()
        const isLog = url === '/evidence-log'
        const log = isLog ? (JSON.parse(text) as { origin: string }) : undefined
        const body = log && { ...log, verifier_keys: [writeLogKey({ name: log.origin, publicKey })] }
        response.writeHead(answer.status, { 'content-type': 'application/json' })
        response.end(body === undefined ? text : JSON.stringify(body))
      })()
    })
    proxy.listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    try {
      const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
      const refused = await network.asOperator(`evidence witnesses --out forged.policy --url ${url}`)
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('that the authority did not sign')])
      await expect(file('forged.policy')).rejects.toThrow('ENOENT')
      expect((await network.asOperator('evidence witnesses --out genuine.policy')).code).toBe(0)
    } finally {
      proxy.close()
    }
  })
})

describe('executor-key', () => {
  it('retires after a yes', async () => {
    const key = (await testSigner('short')).publicKey
    await network.asOperator(`evidence key add short --key ${key} --executor robot`)
    expect((await network.asOperator('evidence key retire short')).code).toBe(2)
    expect((await network.asOperator('evidence key retire short --yes')).stdout).toContain('Retired short.')
    expect((await network.asOperator('evidence key list')).stdout).toMatch(/short +robot/)
    const again = await network.asOperator('evidence key retire short --yes')
    expect(again.stderr).toContain('executor_key_retired')
  })
})
