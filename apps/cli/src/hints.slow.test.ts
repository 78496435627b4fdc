import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RealNetwork, openNetwork } from './testing/real-authority.suite.ts'
import type { CommandRun } from './testing/run-command.suite.ts'

let network: RealNetwork
let partner: RealNetwork
let attestation = ''
let decision = ''
beforeAll(async () => {
  partner = await openNetwork({}, 'PARTNER-NET')
  network = await openNetwork({ NA_PARTNER_ADDRESSES: 'loopback', EVIDENCE_STORE: 'on' }, 'HINT-NET')
  attestation = await made('attestation issue clerk --role role:client --capability ledger.read', 'attestation_id')
  const evaluated = await network.asOperator(`ask --as operator ledger.read --attestation ${attestation} --quiet`)
  decision = evaluated.stdout.trim()
})
afterAll(async () => {
  await network.close()
  await partner.close()
})

async function made(line: string, name: string): Promise<string> {
  return String((await network.asOperator(`${line} --json`)).json()[name])
}

/** The commands that an output names, each to the end of its line. A word in <> is for the reader to fill in. */
function commandsIn({ stdout, stderr }: CommandRun): readonly string[] {
  return (stdout + stderr)
    .split('\n')
    .flatMap((line) => /\bchancery ([a-z].*?)(?<=\S)\.?$/.exec(line)?.[1] ?? [])
    .filter((line) => !line.includes('<'))
}

/** Lines of a shell, as far as hints use it. */
function wordsOf(line: string): readonly string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '')
}

/** Runs every command that the outputs of these lines name, as printed. */
async function runHints(...lines: readonly string[]): Promise<void> {
  for (const line of lines) {
    const first = await network.asOperator(line)
    const hints = commandsIn(first)
    expect([line, hints.length]).not.toEqual([line, 0])
    for (const hint of hints) {
      network.clock.advance(15)
      const yes = /^(?:treaty|invite|operator|boundary-policy|partner) (?:revoke|withdraw|remove|activate)/.test(hint)
      const stop = AbortSignal.abort()
      const ran = await network.run([...wordsOf(hint), ...(yes ? ['--yes'] : [])], { stop, sleep: () => undefined })
      expect([line, hint, ran.code, ran.stderr]).toEqual([line, hint, 0, expect.any(String)])
    }
  }
}

it('evidence: what is exported, packed, bundled and shown is verified as printed', async () => {
  await network.run('keygen operator --out exec --key-id exec-1')
  await network.asOperator('evidence key add exec-1 --key exec.pub --executor HINT-NET')
  await runHints(
    'evidence export --out evidence.jsonl',
    `evidence show ${decision}`,
    `evidence pack ${decision} --out own.json`,
    `evidence receipt ${decision} --out bundle.json`,
  )
}, 120_000)

it('partners and treaties: the next steps are run as printed', async () => {
  const root = partner.genesis.root_public_key
  await runHints(
    `partner add ${partner.na.url} --root-key ${root} --allow-http`,
    `partner add ${partner.na.url} --root-key ${root} --role role:client --yes`,
    'partner show NOBODY-NET --path-from HINT-NET',
    'partner remove PARTNER-NET --dry-run',
  )
}, 120_000)

it('nodes and records: the next steps are run as printed', async () => {
  await network.invite()
  await runHints(
    'operator list op-privileged',
    'invite create --out token',
    'invite create --count 2 --out tokens',
    'policy new --name own',
    'policy publish own.policy.yaml',
    `attestation revoke ${attestation} --yes`,
  )
}, 120_000)
