import { resolve } from 'node:path'
import { asJson, visible } from '@chancery/protocol'
import {
  EvidencePackError,
  PACK_CHECK_WORDS,
  checkEvidencePack,
  explainEvidencePack,
  isEvidencePage,
  readEvidencePack,
  readEvidencePage,
} from '@chancery/sdk'
import type { EvidencePack, EvidencePackReport, PackCheck, PackTrust } from '@chancery/sdk'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { CommandError } from '../../errors/failure.ts'
import { readText } from '../../files/files.ts'
import { loadVerifiedGenesis } from '../../files/genesis-file.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import type { Style } from '../../output/style.ts'
import { table } from '../../output/table.ts'
import { loadExecutorKeys } from '../evidence/audit-inputs.ts'

/** Runs `verify pack` offline. The exit code is 0 only when no check failed. */
export async function run(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const file = args.required('file')
  const text = await readText(resolve(context.cwd, file))
  const keys = await loadExecutorKeys(context, options)
  const witnesses = options.list('witness')
  return verifyPack(context, text, {
    ...(await loadPinnedBlock(context, options)),
    ...(options.isSet('executor-keys')
      ? { executorKeys: new Map(keys.map(({ key_id, public_key }) => [key_id, public_key])) }
      : {}),
    ...(witnesses.length === 0 ? {} : { witnesses }),
  })
}

/** The trusted block of --genesis. The genesis block of the pack counts only if it has the same root. */
export async function loadPinnedBlock({ cwd }: CommandContext, options: Options): Promise<PackTrust> {
  const given = options.text('genesis')
  return given === undefined ? {} : { genesis: await loadVerifiedGenesis(resolve(cwd, given)) }
}

/** Verifies a pack, or a page with a pack in it. */
export async function verifyPack({ style }: CommandContext, text: string, trust: PackTrust): Promise<Result> {
  const pack = readPack(text)
  const report = await checkEvidencePack(pack, trust)
  const data = { ...asJson(report), kind: 'evidence-pack' }
  return { data, text: packText(pack, report, style), exitCode: report.valid ? 0 : 1 }
}

/** Reads a pack or the page form of one. */
export function readPack(text: string): EvidencePack {
  try {
    return isEvidencePage(text) ? readEvidencePage(text) : readEvidencePack(text)
  } catch (error) {
    if (!(error instanceof EvidencePackError)) throw error
    throw new CommandError(
      { code: 'invalid_evidence_pack', message: error.message, hint: 'Ask for the file again, unchanged.' },
      { cause: error },
    )
  }
}

function packText(pack: EvidencePack, report: EvidencePackReport, style: Style): string {
  const words = { passed: style.good('yes'), failed: style.bad('no'), unchecked: style.warn('not checked') }
  const toRow = ({ name, status, detail }: PackCheck): readonly string[] => [
    PACK_CHECK_WORDS[name],
    words[status],
    visible(detail ?? '-'),
  ]
  const story = explainEvidencePack(pack)
  return [
    report.valid ? style.good('Valid.') : style.bad('Not valid.'),
    `  decision ${visible(report.decision_id ?? '-')} of ${visible(report.network)}`,
    ...(story?.sentences ?? ['The decision cannot be read.']).map((sentence) => `  ${visible(sentence)}`),
    ...(story?.reasons ?? []).map(({ text }) => `  - ${visible(text)}`),
    ...(story?.executions ?? []).map((sentence) => `  ${visible(sentence)}`),
    '',
    table(['CHECK', 'RESULT', 'DETAIL'], report.checks.map(toRow), style),
    '',
    ...report.not_proven.map((sentence) => visible(sentence)),
  ].join('\n')
}
