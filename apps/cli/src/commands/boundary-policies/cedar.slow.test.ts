import { cp, readFile, writeFile } from 'node:fs/promises'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JsonObject } from '@chancery/protocol'
import type { EvidencePack } from '@chancery/sdk/authority'
import { readPack, writePack, type PackRecords } from '@chancery/sdk/evidence'
import { sealPack } from '@chancery/sdk/internal'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from '../../testing/real-authority.suite.ts'

// Holds: tests of policies with Cedar gates and external facts, and the replay of decisions from the authority and from
// a file: same, different, not computed here.

const EXAMPLE = new URL('../../../../../examples/cedar/', import.meta.url)

let network: RealNetwork
let source: Server
beforeAll(async () => {
  source = createServer((_, response) => response.end('{"result":true}'))
  await new Promise<void>((resolve) => source.listen(0, '127.0.0.1', resolve))
  network = await openNetwork({ EVIDENCE_STORE: 'on', NA_FACT_ORIGINS: originOf() })
  await cp(EXAMPLE, network.setup.path('cedar'), { recursive: true })
})
afterAll(async () => {
  source.close()
  await network.close()
})
const originOf = (): string => `http://127.0.0.1:${(source.address() as AddressInfo).port}`

const CREDIT = (): string => `policy_id: credit
valid_from: 2026-01-01T00:00:00Z
valid_until: 2036-01-01T00:00:00Z
gates:
  - gate_id: known
    gate_type: external_fact.v1
    order: 0
    config:
      origin: ${originOf()}
      path: /v1/data/credit
      question: { input: { who: { fact: requester_sovereign_id } } }
      answer: { path: result }
      time_limit_ms: 1000
`

describe('policy test', () => {
  it('runs Cedar gates with the texts of the folder', async () => {
    const { code, stdout } = await network.run('policy test cedar')
    expect(stdout).toContain('6 passed, 0 failed')
    expect(code).toBe(0)
  })

  it('names what Cedar finds in the texts', async () => {
    await cp(EXAMPLE, network.setup.path('wrong'), { recursive: true })
    await writeFile(
      network.setup.path('wrong/printing.cedar'),
      'permit(principal, action, resource) when { context.x };',
    )
    const { code, stderr } = await network.run('policy test wrong')
    expect([code, stderr.includes('app-rules: policy set:')]).toEqual([1, true])
  })

  it('takes external facts from the case, and denies without one', async () => {
    const folder = (name: string): string => network.setup.path(`facts/${name}`)
    await cp(EXAMPLE, network.setup.path('facts'), { recursive: true })
    await writeFile(folder('printing.policy.yaml'), CREDIT())
    const one = (name: string, facts: string, outcome: string, gate: string): string => `  - name: ${name}
    context: { requested_capability: pay, requester_sovereign_id: beta${facts} }
    expect: { outcome: ${outcome}, gates: { credit/known: ${gate} } }
`
    const cases = [
      one('known', ', external_facts: { credit/known: true }', 'allow', 'pass'),
      one('unknown', ', external_facts: { credit/known: false }', 'deny', 'fail'),
      one('no answer', '', 'deny', 'gate_error'),
    ]
    await writeFile(folder('printing.cases.yaml'), `now: 2026-06-01T12:00:00Z\ncases:\n${cases.join('')}`)
    const { stdout } = await network.run('policy test facts')
    expect(stdout).toContain('3 passed, 0 failed')
  })
})

/** The id of a decision under both policies. */
async function decide(copies: number): Promise<string> {
  await writeFile(network.setup.path('claims.json'), '{"capabilities":["printer.print"]}')
  const issued = await network.asOperator('attestation issue vendor --role role:client --claims claims.json --json')
  const id = String(issued.json()['attestation_id'])
  await writeFile(network.setup.path('ask.yaml'), `request_parameters: { printer: p1, copies: ${copies} }\n`)
  const made = await network.asOperator(
    `ask --as operator printer.print --attestation ${id} --context ask.yaml --quiet`,
  )
  return made.stdout.trim()
}

describe('verify --replay', () => {
  let pack: EvidencePack
  let decision = ''
  beforeAll(async () => {
    const flags = '--cedar cedar/printing.cedar --schema cedar/printing.cedarschema'
    await network.asOperator(`policy publish cedar/printing.policy.yaml ${flags}`)
    await writeFile(network.setup.path('credit.policy.yaml'), CREDIT())
    await network.asOperator('policy publish credit.policy.yaml')
    for (const name of ['printing', 'credit']) {
      const { code, stderr } = await network.asOperator(`policy activate ${name} 1 --yes`)
      if (code !== 0) throw new Error(stderr)
    }
    decision = await decide(3)
    const shown = await network.asOperator(`evidence pack ${decision} --out decision.json`)
    if (shown.code !== 0) throw new Error(shown.stderr)
    pack = readPack(await readFile(network.setup.path('decision.json'), 'utf8'))
  })

  const resultsOf = (report: JsonObject): readonly string[] =>
    (report['gates'] as readonly JsonObject[]).map(({ gate_name, result }) => `${String(gate_name)} ${String(result)}`)
  const replayed = async (changed: PackRecords): Promise<[number, string]> => {
    await writeFile(network.setup.path('changed.json'), writePack(sealPack(changed)))
    const { code, stdout, stderr } = await network.run('verify --replay changed.json --genesis genesis.json')
    return [code, `${stdout}${stderr}`]
  }

  it('computes an allowed and a denied decision again, byte by byte', async () => {
    for (const id of [decision, await decide(51)]) {
      const { code, json } = await network.asOperator(`verify --replay ${id} --json`)
      expect([code, json()['result']]).toEqual([0, 'same'])
      expect(resultsOf(json())).toEqual([
        'attestation_status not_recomputable',
        'attestation_validity not_recomputable',
        'capability_check same',
        'freshness_check same',
        'credit/known external',
        'printing/app-rules same',
      ])
    }
  })

  it('works offline from a pack, and names the external fact', async () => {
    const [code, text] = await replayed(pack)
    expect(code).toBe(0)
    expect(text).toMatch(/credit\/known +external_fact.v1 +not recomputable \(external fact\)/)
    expect(text).toMatch(/printing\/app-rules +cedar.v1 +same/)
  })

  it('says what could not be computed without the texts or the policies', async () => {
    const [code, text] = await replayed({ ...pack, policy_texts: [] })
    expect([code, text.includes('Cedar gives no answer here: text_unavailable')]).toEqual([2, true])
    const [other, words] = await replayed({ ...pack, policies: [], policy_texts: [] })
    expect([other, words.includes('the policy is not at hand')]).toEqual([2, true])
  })

  it('refuses a text that no policy names', async () => {
    const [code, text] = await replayed({ ...pack, policy_texts: ['permit(principal, action, resource);'] })
    expect([code, text.includes('text_not_named')]).toEqual([1, true])
  })

  it('refuses a file whose records do not verify, and an unknown decision', async () => {
    const entries = pack.entries.map((line) => line.replaceAll('"copies":3', '"copies":4'))
    const [code, text] = await replayed({ ...pack, entries })
    expect([code, text.includes('do not verify')]).toEqual([1, true])
    expect((await network.asOperator('verify --replay none')).code).toBe(1)
    const { code: exit, stderr } = await network.run('verify --replay decision.json')
    expect([exit, stderr]).toEqual([2, expect.stringContaining('the root key of the file was not compared')])
  })
})
