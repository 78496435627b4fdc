import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readGenesisBlock, writeJson, writePrivateKeyFile, writePublicKeyFile } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import {
  accepted,
  createMigratedDatabase,
  createTestNetwork,
  ownKeysOf,
  startAuthorityProcess,
  testSeed,
} from '@chancery/testkit'
import type { AuthorityProcess, TestDatabase, TestNetwork } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CommandRun, TestContext } from '../../apps/cli/src/testing/run-command.suite.ts'

// The commands of protocol/trust-operations 3.11 and 8.7 between two authorities with separate keys. Records travel as
// files.

const NAMES = ['ALPHA', 'BETA', 'GAMMA'] as const
type Name = (typeof NAMES)[number]

interface Sovereign {
  readonly process: AuthorityProcess
  readonly network: TestNetwork
  readonly database: TestDatabase
}

const sovereigns = new Map<Name, Sovereign>()
let context: TestContext
let folder = ''
beforeAll(async () => {
  context = await TestContext.make()
  folder = context.folder
  for (const tier of ['privileged', 'standard']) {
    const text = writePrivateKeyFile(testSeed(`op-${tier}`), `op-${tier}`)
    await writeFile(join(folder, `${tier}.key`), text, { mode: 0o600 })
  }
  for (const name of NAMES) {
    const [network, database] = [await createTestNetwork(name, ownKeysOf(name)), await createMigratedDatabase('sqlite')]
    const process = await startAuthorityProcess({ network, settings: database.settings })
    sovereigns.set(name, { process, network, database })
    const genesis = readGenesisBlock(accepted(await process.request('GET', '/genesis')))
    const file = name.toLowerCase()
    await writeFile(join(folder, `${file}.json`), writeJson(genesis))
    await writeFile(join(folder, `${file}-na.pub`), writePublicKeyFile(genesis.network_authority.public_key))
    await writeFile(join(folder, `${file}-root.pub`), writePublicKeyFile(genesis.root_public_key))
    for (const tier of ['privileged', 'standard']) {
      const config = `[network]\nna_endpoint = "${process.url}"\n[paths]\ngenesis = "${file}.json"\noperator_private_key = "${tier}.key"\n`
      const home = join(folder, `${file}${tier === 'standard' ? '-standard' : ''}`)
      await mkdir(home)
      for (const each of [`${file}.json`, `${tier}.key`]) await copyFile(join(folder, each), join(home, each))
      await writeFile(join(home, 'chancery.toml'), config)
    }
  }
  // GAMMA has no treaty.
  for (const [own, other] of [
    ['alpha', 'BETA'],
    ['beta', 'ALPHA'],
  ] as const) {
    const root = `${other.toLowerCase()}-root.pub`
    const line = `partner add ${of(other).process.url} --root-key ${root} --role role:client --yes`
    await works(`${line} --home ${own}`)
  }
})
afterAll(async () => {
  for (const { process, database } of sovereigns.values()) {
    await process.stop()
    await database.drop()
  }
  await context.remove()
})

function of(name: Name): Sovereign {
  const found = sovereigns.get(name)
  if (found === undefined) throw new Error(`${name} was not started`)
  return found
}

/** Runs a command without a terminal. Each in a process would take a second; cli-sovereign.test.ts runs some so. */
function chancery(line: string): Promise<CommandRun> {
  return context.run(line, { now: () => systemClock.now() })
}

async function works(line: string): Promise<string> {
  const { code, stdout, stderr } = await chancery(line)
  expect([line, code, code === 0 ? '' : `${stdout}${stderr}`]).toEqual([line, 0, ''])
  return stdout
}

/** Expects a refusal that the authority explains with this word. */
async function fails(line: string, word: string): Promise<void> {
  const { code, stdout, stderr } = await chancery(line)
  expect([line, code === 0, `${stdout}${stderr}`]).toEqual([line, false, expect.stringContaining(word)])
}

async function load(file: string): Promise<JsonObject> {
  return JSON.parse(await readFile(join(folder, file), 'utf8')) as JsonObject
}

async function eventsOf(name: Name, type: string): Promise<readonly JsonObject[]> {
  const { recent_changes: changes } = accepted(await of(name).process.request('GET', '/dashboard.json'))
  return (changes as unknown as JsonObject[]).filter((change) => change['event_type'] === type)
}

describe('agreements between two authorities', () => {
  it('offer, accept and cosign make a record that both trust', async () => {
    await works('agreement offer BETA --capability ledger.read --out offer.json --home alpha')
    const told = await works('agreement accept offer.json --out half.json --home beta')
    expect(told).toContain('half signed')
    expect(told).toContain('chancery agreement cosign half.json --offer offer.json')
    for (const config of ['alpha', 'beta'])
      await fails(`ask ledger.read --as operator --agreement half.json --home ${config}`, 'invalid_offerer_signature')

    await works('agreement cosign half.json --offer offer.json --out agreement.json --home alpha')
    const [half, whole] = [await load('half.json'), await load('agreement.json')]
    expect(whole).toMatchObject({ ...half, signatures: expect.any(Array) as unknown })
    expect((whole['signatures'] as unknown as object[]).length).toBe(2)
    const keys = '--offerer-key alpha-na.pub --responder-key beta-na.pub'
    await works(`verify agreement.json ${keys} --home beta`)
    for (const config of ['alpha', 'beta'])
      await works(`ask ledger.read --as operator --agreement agreement.json --home ${config}`)

    await works('agreement cosign agreement.json --offer offer.json --out again.json --home alpha')
    expect(await load('again.json')).toEqual(whole)
    expect(await eventsOf('ALPHA', 'agreement_cosigned')).toHaveLength(1)
  })

  it('offer, counter and accept make a record that both trust', async () => {
    const capabilities = '--capability ledger.read --capability ledger.write'
    await works(`agreement offer BETA ${capabilities} --out wide.json --home alpha`)
    await works('agreement counter wide.json --capability ledger.read --out counter.json --home beta')
    await works('agreement accept wide.json --counter counter.json --out narrow.json --home alpha')
    for (const config of ['alpha', 'beta']) {
      await works(`ask ledger.read --as operator --agreement narrow.json --home ${config}`)
      expect((await chancery(`ask ledger.write --as operator --agreement narrow.json --home ${config}`)).code).toBe(1)
    }
  })

  it('cosign refuses changed terms, a foreign offer, and a responder that did not sign', async () => {
    const half = await load('half.json')
    const terms = half['agreed_terms'] as JsonObject
    const write = (file: string, record: JsonObject) => writeFile(join(folder, file), JSON.stringify(record))
    const cosign = (file: string, offer = 'offer.json', at = 'alpha') =>
      `agreement cosign ${file} --offer ${offer} --home ${at}`
    await write('more.json', { ...half, agreed_terms: { ...terms, capabilities: ['ledger.read', 'ledger.write'] } })
    await fails(cosign('more.json'), 'offer_mismatch')
    await fails(cosign('half.json', 'wide.json'), 'offer_mismatch')
    await fails(cosign('half.json', 'offer.json', 'beta'), 'not_a_party')
    await write('unsigned.json', { ...half, signatures: [] })
    await fails(cosign('unsigned.json'), 'responder_signature_invalid')
  })
})

describe('votes that travel between two authorities', () => {
  it('reach 2 of 2 with files alone', async () => {
    const issued = await works('attestation issue vendor-1 --role role:client --json --home alpha')
    const { attestation_id } = JSON.parse(issued) as { attestation_id: string }
    // A denial is a decision as well, so the exit code is not checked.
    await chancery(`ask --as operator ledger.read --attestation ${attestation_id} --out decided.json --home alpha`)
    await works('record vote decided.json approve --out vote-alpha.json --home alpha')
    await works('record vote decided.json approve --key alpha-na.pub --out vote-beta.json --home beta')
    const validators = '--threshold 2 --validator ALPHA --validator BETA'
    const assemble = `record tally decided.json vote-alpha.json vote-beta.json ${validators}`
    await works(`${assemble} --out consensus.json --home alpha`)
    const keys = '--validator-key ALPHA=alpha-na.pub --validator-key BETA=beta-na.pub --assembler-key alpha-na.pub'
    await works(`verify consensus.json ${keys} --home beta`)
    await fails(`record tally decided.json vote-alpha.json ${validators} --home alpha`, 'threshold')
    const [cast] = await eventsOf('BETA', 'validator_vote_cast')
    expect(cast).toMatchObject({ details: { issuer_sovereign_id: 'ALPHA', trust_basis: 'caller_supplied_keys' } })
  })

  it('need no key where a treaty recognises the issuer, and one from a privileged operator where none does', async () => {
    const vote = 'record vote decided.json approve'
    await works(`${vote} --home beta-standard`)
    await fails(`${vote} --home gamma`, 'unknown_issuer')
    await fails(`${vote} --issuer-key alpha-na.pub --home gamma-standard`, 'insufficient_operator_tier')
    await works(`${vote} --issuer-key alpha-na.pub --home gamma`)
    await fails(`${vote} --issuer-key beta-na.pub --home gamma`, 'invalid_signature')
  })

  it('are refused for a proof with the decision of another request (--decision)', async () => {
    const { decision, justification_proof: proof } = await load('decided.json')
    await writeFile(join(folder, 'proof.json'), JSON.stringify(proof))
    await writeFile(join(folder, 'decision.json'), JSON.stringify(decision))
    await works('record vote proof.json approve --decision decision.json --home beta')
    const issued = await works('attestation issue vendor-2 --role role:client --json --home alpha')
    const { attestation_id } = JSON.parse(issued) as { attestation_id: string }
    await chancery(`ask --as operator ledger.read --attestation ${attestation_id} --out other.json --home alpha`)
    await writeFile(join(folder, 'other-decision.json'), JSON.stringify((await load('other.json'))['decision']))
    await fails('record vote proof.json approve --decision other-decision.json --home beta', 'decision_mismatch')
  })

  it('against count against', async () => {
    await works('record vote decided.json reject --reason no --out against.json --home beta')
    const line = 'record tally decided.json vote-alpha.json against.json --threshold 2'
    await fails(`${line} --validator ALPHA --validator BETA --home alpha`, 'threshold')
    const both = 'record tally decided.json vote-alpha.json vote-beta.json against.json --threshold 1'
    await fails(`${both} --validator ALPHA --validator BETA --home alpha`, 'contradictory_votes')
  })
})
