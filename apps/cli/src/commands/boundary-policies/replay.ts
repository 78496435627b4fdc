import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { asJson, visible } from '@chancery/protocol'
import type { Replay, ReplayResult } from '@chancery/protocol'
import { EvidencePackError, checkEvidencePack, collectEvidencePack, replayEvidencePack } from '@chancery/sdk'
import type { EvidencePack, EvidencePackReport } from '@chancery/sdk'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { CommandError } from '../../errors/failure.ts'
import { readText } from '../../files/files.ts'
import { loadVerifiedGenesis } from '../../files/genesis-file.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { table } from '../../output/table.ts'
import { readPack } from '../verify/pack.ts'
import { withCedar } from './cedar.ts'

const EXIT_CODES = { same: 0, different: 1, incomplete: 2 } as const

/** Runs `boundary-policy replay`: computes the gates of a stored decision again, from a file or from the authority. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd } = context
  const named = args.required('decision')
  const isFile = await stat(resolve(cwd, named)).then(
    (found) => found.isFile(),
    () => false,
  )
  try {
    const pack = isFile ? readPack(await readText(resolve(cwd, named))) : await collect(context, options, named)
    const genesis = options.text('genesis')
    const trusted = genesis === undefined ? undefined : await loadVerifiedGenesis(resolve(cwd, genesis))
    const report = await checkEvidencePack(pack, { genesis: trusted })
    // Gates of a record that was changed would be compared with nothing that anyone signed.
    if (!report.valid) throw notValid(report)
    const replay = await withCedar((cedar) => replayEvidencePack(pack, (question, texts) => cedar.ask(question, texts)))
    return toResult(context, report, replay)
  } catch (error) {
    if (!(error instanceof EvidencePackError)) throw error
    const hint = 'Write a file with: chancery evidence pack DECISION --out pack.json'
    throw new CommandError({ code: 'invalid_evidence_pack', message: error.message, hint }, { cause: error })
  }
}

async function collect(context: CommandContext, options: Options, id: string): Promise<EvidencePack> {
  const connection = await connectAsOperator(context, options)
  return connection.ask((client) => collectEvidencePack(client, id))
}

function notValid({ checks }: EvidencePackReport): CommandError {
  const failed = checks
    .filter(({ status }) => status === 'failed')
    .map(({ name, detail }) => `${name} (${detail ?? ''})`)
  return new CommandError({
    code: 'invalid_evidence_pack',
    message: `The records of the decision do not verify: ${failed.join(', ')}.`,
    hint: 'Run chancery verify FILE --genesis genesis.json for every check.',
  })
}

function toResult({ style }: CommandContext, { decision_id, result }: EvidencePackReport, replay: Replay): Result {
  const words: Readonly<Record<ReplayResult, string>> = {
    same: style.good('same'),
    different: style.bad('different'),
    external: style.quiet('not recomputable (external fact)'),
    not_recomputable: style.warn('not recomputable'),
  }
  const rows = replay.gates.map((gate) => [
    visible(gate.gate_name),
    visible(gate.gate_type),
    words[gate.result],
    visible(gate.detail ?? '-'),
  ])
  const heading = {
    same: style.good('Same: every gate that can be computed again gives the recorded bytes.'),
    different: style.bad('Different: the decision does not follow from its records.'),
    incomplete: style.warn('Incomplete: not every gate could be computed here.'),
  }
  const text = [
    heading[replay.result],
    `  decision ${visible(decision_id ?? '-')}: ${result ?? '-'}`,
    '',
    table(['GATE', 'TYPE', 'RESULT', 'DETAIL'], rows, style),
  ].join('\n')
  return { data: asJson({ decision_id, ...replay }), text, exitCode: EXIT_CODES[replay.result] }
}
