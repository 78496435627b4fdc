import { resolve } from 'node:path'
import { asJson, readWitnessKey, visible } from '@chancery/protocol'
import type { EvidencePack } from '@chancery/sdk/authority'
import {
  explainPack,
  readPack as readPackText,
  verifyPack as checkPack,
  type EvidencePackReport,
  type PackCheck,
  type PackTrust,
} from '@chancery/sdk/evidence'
import { EvidencePackError, PACK_CHECK_WORDS, isEvidencePage, isPageOf, readEvidencePage } from '@chancery/sdk/internal'
import type { CommandContext } from '../../context.ts'
import { type Result, type Style, table } from '../../output/screen.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { findPageTemplate } from '../../files/files.ts'
import { loadKeyHistory, loadVerifiedGenesis } from '../../files/genesis-file.ts'
import type { Options } from '../../arguments/options.ts'
import { loadExecutorKeys } from '../evidence/audit-inputs.ts'

/** `verify` of a pack. The exit code is 0 only when no check failed and the root key was compared. */
export async function verifyPackFile(context: CommandContext, text: string, options: Options): Promise<Result> {
  const keys = await loadExecutorKeys(context, options)
  const witnesses = options.list('key')
  const malformed = witnesses.find((key) => readWitnessKey(key) === undefined)
  if (malformed !== undefined)
    throw usageError(
      `--key ${visible(malformed)}: this is not the verifier key of a witness.`,
      'A pack is verified with --genesis. Of a witness give the whole line that it publishes.',
    )
  return verifyPack(context, text, {
    ...(await loadPackTrust(context, options)),
    ...(options.isSet('executor-keys')
      ? { executorKeys: new Map(keys.map(({ key_id, public_key }) => [key_id, public_key])) }
      : {}),
    ...(witnesses.length === 0 ? {} : { witnesses }),
  })
}

/** The trusted block of --genesis and its former keys. The block of the pack counts only if it has the same root. */
export async function loadPackTrust({ cwd }: CommandContext, options: Options): Promise<PackTrust> {
  const [given, history] = [options.text('genesis'), options.text('key-history')]
  if (given === undefined) {
    if (history !== undefined) throw usageError('--key-history needs --genesis: its root signed both.')
    return {}
  }
  const genesis = await loadVerifiedGenesis(resolve(cwd, given))
  return history === undefined ? { genesis } : { genesis, keyHistory: await loadKeyHistory(cwd, history, genesis) }
}

/** Verifies a pack, or a page with a pack in it. */
export async function verifyPack({ style }: CommandContext, text: string, trust: PackTrust): Promise<Result> {
  const pack = readPack(text)
  const report = await checkPack(pack, trust)
  const isOtherPage = isEvidencePage(text) && !isOwnPage(text)
  const note = isOtherPage ? [style.warn(OTHER_PAGE), ''] : []
  const data = { ...asJson(report), kind: 'evidence-pack', ...(isOtherPage ? { warning: OTHER_PAGE } : {}) }
  return { data, text: [...note, packText(pack, report, style)].join('\n'), exitCode: exitCodeOf(report) }
}

/** A page can show anything around its pack, and its script can be another one. */
const OTHER_PAGE = 'Only the pack was verified. The page around it is not the one of this release.'

function isOwnPage(text: string): boolean {
  const template = findPageTemplate()
  return template !== undefined && isPageOf(template, text)
}

/** 3: nothing failed, but without a trusted root key nothing is proven. */
function exitCodeOf({ valid, checks }: EvidencePackReport): 0 | 1 | 3 {
  if (valid) return 0
  return checks.some(({ status }) => status === 'failed') ? 1 : 3
}

/** Reads a pack or the page form of one. */
export function readPack(text: string): EvidencePack {
  try {
    return isEvidencePage(text) ? readEvidencePage(text) : readPackText(text)
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
  const story = explainPack(pack, report)
  const headings = {
    0: style.good('Valid.'),
    1: style.bad('Not valid.'),
    3: `${style.warn('Unknown:')} the root key was not compared. Add --genesis genesis.json.`,
  } as const
  return [
    headings[exitCodeOf(report)],
    ...(report.valid ? [] : ['  The pack states the following. It is not proven.']),
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
