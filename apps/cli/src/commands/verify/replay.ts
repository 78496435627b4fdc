import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Replay, type ReplayResult, asJson, visible } from '@chancery/protocol'
import type { EvidencePack } from '@chancery/sdk/authority'
import { verifyPack, replayPack, type EvidencePackReport, type PackTrust } from '@chancery/sdk/evidence'
import { EvidencePackError, MAX_PACK_LENGTH, collectEvidencePack } from '@chancery/sdk/internal'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { type Result, table } from '../../output/screen.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { readText } from '../../files/files.ts'
import type { Options } from '../../arguments/options.ts'
import { loadPackTrust, readPack } from './pack.ts'
import { withCedar } from '../boundary-policies/cedar.ts'

const EXIT_CODES = { same: 0, different: 1, incomplete: 3 } as const

/** `verify --replay`: computes the gates of a stored decision again, from a pack or from the authority. */
export async function replayDecision(context: CommandContext, named: string, options: Options): Promise<Result> {
  const { cwd } = context
  const isFile = await stat(resolve(cwd, named)).then(
    (found) => found.isFile(),
    () => false,
  )
  try {
    const given = await loadPackTrust(context, options)
    // Anyone can make a network and sign a pack in its name.
    if (isFile && given.genesis === undefined)
      throw new CommandError({
        code: 'keys_needed',
        message: 'Unknown: the root key of the file was not compared.',
        hint: 'Add --genesis genesis.json with the block that you trust.',
        exitCode: 3,
      })
    const { pack, trust } = isFile
      ? { pack: readPack(await readText(resolve(cwd, named), MAX_PACK_LENGTH)), trust: given }
      : await collect(context, options, named, given)
    const report = await verifyPack(pack, trust)
    // Gates of a record that was changed would be compared with nothing that anyone signed.
    if (report.checks.some(({ status }) => status === 'failed')) throw notValid(report)
    const replay = await withCedar((cedar) => replayPack(pack, (question, texts) => cedar.ask(question, texts)))
    return toResult(context, report, replay)
  } catch (error) {
    if (!(error instanceof EvidencePackError)) throw error
    const hint = 'Write a file with: chancery evidence pack'
    throw new CommandError({ code: 'invalid_evidence_pack', message: error.message, hint }, { cause: error })
  }
}

/** Without --genesis, the block of the configuration is trusted. */
async function collect(
  context: CommandContext,
  options: Options,
  id: string,
  given: PackTrust,
): Promise<{ readonly pack: EvidencePack; readonly trust: PackTrust }> {
  const connection = await connectAsOperator(context, options)
  const { genesis, history: keyHistory } = connection.followed?.keys ?? {}
  if (given.genesis === undefined && genesis === undefined)
    throw usageError(
      'No genesis block is configured.',
      'Give --genesis <file>: without a trusted root key nothing is proven.',
    )
  const pack = await connection.ask((client) => collectEvidencePack(client, id))
  if (given.genesis !== undefined) return { pack, trust: given }
  return { pack, trust: { genesis, ...(keyHistory === undefined ? {} : { keyHistory }) } }
}

function notValid({ checks }: EvidencePackReport): CommandError {
  const failed = checks
    .filter(({ status }) => status === 'failed')
    .map(({ name, detail }) => `${name} (${detail ?? ''})`)
  return new CommandError({
    code: 'invalid_evidence_pack',
    message: `The records of the decision do not verify: ${failed.join(', ')}.`,
    hint: 'Run the same command without --replay for every check.',
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
