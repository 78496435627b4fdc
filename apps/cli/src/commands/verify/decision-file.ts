import { resolve } from 'node:path'
import { asJson } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { DecisionFileError, checkDecisionFile, readDecisionFile } from '@chancery/sdk'
import type { DecisionFile, FileCheck, FileCheckName } from '@chancery/sdk'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { CommandError } from '../../errors/failure.ts'
import { loadVerifiedGenesis } from '../../files/genesis-file.ts'
import type { Options } from '../../arguments/options.ts'
import { table } from '../../output/table.ts'

const CHECK_WORDS: Readonly<Record<FileCheckName, string>> = {
  genesis: 'genesis block is signed by its root key',
  root_key: 'root key is the one you trust',
  key_history: 'former keys are signed by the root key',
  decision: 'decision is signed, with its context and entry',
  justification: 'justification is signed and of this decision',
  executions: 'executions belong to the decision',
  policies: 'policies are those the decision names',
  basis: 'attestation or agreement is the one the decision names',
  inclusion: 'decision is in the public log',
  anchor: 'anchor covers the decision',
}

/** Verifies a decision file offline. The genesis block of the file counts only if a trusted one is given. */
export async function verifyDecisionFile(
  { cwd, style }: CommandContext,
  options: Options,
  value: JsonObject,
): Promise<Result> {
  const given = options.text('genesis')
  const genesis = given === undefined ? undefined : await loadVerifiedGenesis(resolve(cwd, given))
  const report = await checkDecisionFile(readForm(value), { genesis })
  const words = { passed: style.good('yes'), failed: style.bad('no'), unchecked: style.warn('not checked') }
  const toRow = ({ name, status, detail }: FileCheck): readonly string[] => [
    CHECK_WORDS[name],
    words[status],
    detail ?? '-',
  ]
  const result = report.result === 'authorized' ? style.good('Allowed') : style.bad('Denied')
  const text = [
    report.valid ? style.good('Valid.') : style.bad('Not valid.'),
    `  ${result}: ${report.result ?? 'the decision cannot be read'}`,
    `  decision ${report.decision_id ?? '-'} of ${report.network}`,
    '',
    table(['CHECK', 'RESULT', 'DETAIL'], report.checks.map(toRow), style),
  ].join('\n')
  return { data: { ...asJson(report), kind: 'decision-file' }, text, exitCode: report.valid ? 0 : 1 }
}

function readForm(value: JsonObject): DecisionFile {
  try {
    return readDecisionFile(value)
  } catch (error) {
    if (!(error instanceof DecisionFileError)) throw error
    throw new CommandError(
      { code: 'invalid_decision_file', message: error.message, hint: 'Ask for the file again, unchanged.' },
      { cause: error },
    )
  }
}
