import { realpath, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { asJson, dsseKeyId, readPublicKeyFile, readTrustedPublicKey, visible } from '@chancery/protocol'
import type { Options } from '../../arguments/options.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError } from '../../errors/failure.ts'
import { toFailure } from '../../files/files.ts'
import { loadPublicKey } from '../../files/keys.ts'
import { type Result, type Style, table } from '../../output/screen.ts'
import { type ReleaseReport, checkRelease, readRegular } from './check-release.ts'
import { KEY_FILE, RELEASE_FILE } from './release-files.ts'

const MAX_STATEMENT_BYTES = 1_048_576
const MAX_KEY_BYTES = 4096

/** `verify` of a release folder, offline. The exit code is 0 only with a key from --key that is not a file of the folder. */
export async function verifyRelease({ cwd, style }: CommandContext, folder: string, options: Options): Promise<Result> {
  const given = options.text('key')
  const path = resolve(cwd, folder)
  const loaded = given === undefined ? undefined : await loadPublicKey(cwd, '--key', given)
  await requireFolder(path, folder)
  const trusted = given !== undefined && (await isFileOf(path, resolve(cwd, given))) ? undefined : loaded
  const statement = await readOwnFile(path, RELEASE_FILE, MAX_STATEMENT_BYTES)
  const key = loaded ?? (await readOwnKey(path))
  const report = await checkRelease(path, statement, key)
  const isWhole = report.checks.every(({ status }) => status === 'passed')
  const exitCode = !isWhole ? 1 : trusted === undefined ? 3 : 0
  return {
    data: asJson({
      kind: 'release',
      valid: exitCode === 0,
      version: report.version ?? null,
      commit: report.commit ?? null,
      files: report.files,
      public_key: key,
      key_id: dsseKeyId(key),
      key_given: trusted !== undefined,
      checks: report.checks,
    }),
    text: releaseText(report, { folder, key, exitCode }, style),
    exitCode,
  }
}

async function requireFolder(path: string, given: string): Promise<void> {
  const found = await stat(path).catch((error: unknown) => {
    throw toFailure(error, given, 'read', 'Give the folder with all files of one release.')
  })
  if (found.isDirectory()) return
  throw new CommandError({
    code: 'not_a_release',
    message: `${given} is not a folder.`,
    hint: 'Give the folder with all files of one release.',
  })
}

/** Whether a key was given by the path of a file in the folder. Then it proves as little as no key. */
async function isFileOf(folder: string, path: string): Promise<boolean> {
  const [inside, found] = await Promise.all([realpath(folder), realpath(path).catch(() => undefined)])
  return found !== undefined && dirname(found) === inside
}

async function readOwnFile(folder: string, name: string, maxBytes: number): Promise<string> {
  const found = await readRegular(join(folder, name), maxBytes).catch((error: unknown) => {
    throw toFailure(error, join(folder, name), 'read')
  })
  if (typeof found !== 'string') return found.toString('utf8')
  throw new CommandError({
    code: 'not_a_release',
    message:
      found === 'missing'
        ? `There is no ${name} in this folder, so it is not a signed release.`
        : `${name} is ${found}, so this is not a signed release.`,
    hint: 'Download all files of the release into one folder, and give that folder.',
  })
}

/** The key in the folder proves that the files belong together, not who made them. */
async function readOwnKey(folder: string): Promise<string> {
  const key = readPublicKeyFile(await readOwnFile(folder, KEY_FILE, MAX_KEY_BYTES))?.value ?? ''
  if (readTrustedPublicKey(key) !== undefined) return key
  throw new CommandError({
    code: 'not_a_release',
    message: `${KEY_FILE} is not a public key file.`,
    hint: 'Give the key of the project with --key <file>.',
  })
}

interface Verdict {
  readonly folder: string
  readonly key: string
  readonly exitCode: 0 | 1 | 3
}

function releaseText(report: ReleaseReport, { folder, key, exitCode }: Verdict, style: Style): string {
  const words = { passed: style.good('yes'), failed: style.bad('no'), unchecked: style.warn('not checked') }
  const rows = report.checks.flatMap(({ name, status, details }) =>
    [...(details.length === 0 ? ['an earlier check failed'] : details)].map((detail, at): readonly string[] => [
      at === 0 ? name : '',
      at === 0 ? words[status] : '',
      detail,
    ]),
  )
  const headings = {
    0: `${style.good('Valid:')} release ${visible(report.version ?? '')}, signed by the given key.`,
    1: `${style.bad('Not valid:')} do not install anything from ${visible(folder)}.`,
    3: `${style.warn('Unknown:')} the files belong together, but the key is from the same folder.`,
  } as const
  const next = {
    0: 'Not proven: that this is the newest release, that its source is free of mistakes, and that its commit was reviewed.',
    1: 'Next: delete the folder, download the release again, and check it again. If it fails again, report it (SECURITY.md).',
    3: 'Next: get the key of the project from another place than this folder, and add it with --key.',
  } as const
  return [
    headings[exitCode],
    `  key ${key}`,
    '',
    table(['CHECK', 'RESULT', 'DETAIL'], rows, style),
    '',
    next[exitCode],
  ].join('\n')
}
