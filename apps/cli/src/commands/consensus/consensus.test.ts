import { writeFile } from 'node:fs/promises'
import { type JsonObject, readJson, seedSigner, signOnce, writeJson } from '@chancery/protocol'
import { foreignJustification, foreignSovereign, foreignVote, testSeed, wireText } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

const partner = foreignSovereign('PARTNER-NET')
let network = undefined as unknown as RealNetwork
beforeAll(async () => {
  network = await openNetwork()
  const { signature: _other, ...draft } = foreignJustification(partner, network.clock.now(), {
    issuer_sovereign_id: 'TEST-NET',
  })
  const signer = await seedSigner('na-test', testSeed('na'))
  const proof = await signOnce(readJson(wireText(draft)) as JsonObject, signer)
  await writeFile(network.setup.path('justification.json'), writeJson(proof))
  const about = { proof_id: String(proof['proof_id']), decision_id: String(proof['decision_id']) }
  const vote = foreignVote(partner, about, network.clock.now() - 120_000_000n)
  await writeFile(network.setup.path('partner-vote.json'), wireText(vote))
})
afterAll(() => network.close())

const VALIDATORS = '--validator TEST-NET --validator PARTNER-NET'

describe('consensus', () => {
  it('is voted, assembled and verified', async () => {
    const voted = await network.asOperator('record vote justification.json approve --reason fine --out vote.json')
    expect([voted.code, voted.stdout.includes('approve')]).toEqual([0, true])
    const line = `record tally justification.json vote.json partner-vote.json --threshold 2 ${VALIDATORS}`
    const assembled = await network.asOperator(`${line} --out consensus.json`)
    expect([assembled.code, assembled.stdout.includes('2 of 2')]).toEqual([0, true])
    const own = `--validator-key TEST-NET=${network.genesis.network_authority.public_key}`
    const keys = `${own} --validator-key PARTNER-NET=${partner.publicKey}`
    const verified = await network.asOperator(`verify consensus.json ${keys} --json`)
    expect([verified.code, verified.json()['reason']]).toEqual([0, 'valid'])
    const blind = await network.asOperator(`verify consensus.json ${own}`)
    expect([blind.code, blind.stdout.includes('Add it with --validator-key')]).toEqual([1, true])
  })

  it('is not reached by a rejection', async () => {
    const rejected = await network.asOperator('record vote justification.json reject --out against.json --json')
    expect(rejected.json()['vote']).toBe(false)
    const line = `record tally justification.json against.json partner-vote.json --threshold 2 ${VALIDATORS}`
    const { code, stderr } = await network.asOperator(line)
    expect([code, stderr.includes('Too few of the given validators approve')]).toEqual([1, true])
  })

  it.each([
    ['record vote justification.json perhaps', 2],
    [`record tally justification.json vote.json --threshold none ${VALIDATORS}`, 2],
    ['verify consensus.json --key TEST-NET', 2],
    ['record vote partner-vote.json approve', 1],
  ])('%s ends with %i', async (line, expected) => {
    expect((await network.asOperator(line)).code).toBe(expected)
  })
})
