import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type Signer, writePublicKeyFile } from '@chancery/protocol'
import { buildTree, makeArtifacts } from './folder/artifacts.ts'
import { type ExpectedRelease, finishBuild, signFolder } from './folder/release-folder.ts'
import { buildImage, missingPrograms } from './image/build.ts'
import { openSigningKey, throwAwayKey } from './folder/signing-key.ts'
import { sourceDate } from './source-date.ts'
import { sectionOf } from './version/changelog.ts'

/**
 * `npm run release`: builds, signs and verifies a release (docs/project/release.md). It publishes nothing.
 *
 *   --dry-run     everything, signed with a temporary key
 *   --build       without the signature, for a machine that has no key
 *   --sign        the signature of a folder that the host built, with --sums of another build
 */

const ROOT = join(import.meta.dirname, '..', '..')
const COMMAND = join(ROOT, 'apps/cli/bin/chancery.mjs')

const { values } = parseArgs({
  options: {
    'dry-run': { type: 'boolean', default: false },
    build: { type: 'boolean', default: false },
    sign: { type: 'boolean', default: false },
    sums: { type: 'string' },
    out: { type: 'string', default: join(ROOT, 'release') },
    image: { type: 'string' },
    'no-image': { type: 'boolean', default: false },
    key: { type: 'string' },
    'pkcs11-module': { type: 'string' },
    'pkcs11-token': { type: 'string' },
    'pkcs11-key': { type: 'string' },
    'pkcs11-pin-file': { type: 'string' },
  },
})

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string }
const folder = resolve(values.out)
const isDryRun = values['dry-run']

function say(text: string): void {
  console.log(`== ${text}`)
}

function git(...words: readonly string[]): string {
  return execFileSync('git', words, { cwd: ROOT, encoding: 'utf8' }).trim()
}

async function main(): Promise<void> {
  if ([isDryRun, values.build, values.sign].filter(Boolean).length > 1)
    throw new Error('give one of --dry-run, --build and --sign')
  const given = await openSigningKey(values)
  if (given !== undefined && (isDryRun || values.build)) throw new Error('--dry-run and --build take no key')
  if (given === undefined && !isDryRun && !values.build)
    throw new Error('give --key FILE or a PKCS#11 token. To try it without a key: npm run release -- --dry-run')
  const expected = values.sign ? readExpected() : undefined
  if (!values.sign) await build()
  const signer = given ?? (isDryRun ? await throwAwayKey() : undefined)
  if (signer === undefined) return say(`built ${folder}. Sign it where the key is: npm run release -- --sign`)
  say('signature')
  await signFolder(folder, signer, expected)
  await verifyOutside(signer)
  if (isDryRun) say('dry run: the key was made for this run and is not stored. Do not publish this folder')
}

/** Version and commit of this tree, and the checksums of a build that the host did not make. */
function readExpected(): ExpectedRelease {
  if (values.sums === undefined || dirname(resolve(values.sums)) === folder)
    throw new Error('give --sums FILE: SHA256SUMS of a build of this commit that was not made by the host')
  return { version, commit: git('rev-parse', 'HEAD'), sums: readFileSync(values.sums, 'utf8') }
}

async function build(): Promise<void> {
  checkTree()
  await emptyFolder()
  const seconds = sourceDate()
  const commit = git('rev-parse', 'HEAD')
  say(`version ${version}, commit ${commit.slice(0, 10)}, ${new Date(seconds * 1000).toISOString()}`)
  say('build')
  await buildTree(seconds)
  const image = await findImage(seconds)
  await makeArtifacts(folder, { version, seconds, image, say })
  const facts = { version, commit, seconds, hasImage: image !== undefined }
  await finishBuild(folder, facts)
}

/** A release is made of a commit. A dry run may be of a change that is not committed yet. */
function checkTree(): void {
  const problems: string[] = []
  if (git('status', '--porcelain') !== '') problems.push('the tree has changes that are not committed')
  if (!existsSync(join(ROOT, 'tests/fixtures/releases', version)))
    problems.push(`tests/fixtures/releases/${version} is missing: run tests/tools/make-release-fixture.ts`)
  if ((sectionOf(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'), 'Unreleased') ?? '').trim() !== '')
    problems.push('CHANGELOG.md has unreleased entries, which the notes of this version would not have')
  if (problems.length > 0 && !isDryRun) throw new Error(problems.join('; '))
  for (const problem of problems) say(`note: ${problem}. A release would be refused`)
}

/** Names of files that a release has. */
const OWN_FILE =
  /^((helm-)?chancery[-.].+|SHA256SUMS(\.sigstore\.json)?|RELEASE-NOTES\.md|package-lock\.json|provenance(\.dsse)?\.json|release\.(pub|dsse\.json))$/

/** Deletes the files of an earlier release. Refuses a folder with anything else in it. */
async function emptyFolder(): Promise<void> {
  await mkdir(folder, { recursive: true })
  const entries = await readdir(folder, { withFileTypes: true })
  const other = entries.find((entry) => !entry.isFile() || !OWN_FILE.test(entry.name))
  if (other !== undefined) throw new Error(`${folder} has ${other.name} in it: choose an empty folder with --out`)
  for (const { name } of entries) await rm(join(folder, name))
}

/** The archive of the image: the given one, or one that is built now. */
async function findImage(seconds: number): Promise<string | undefined> {
  if (values.image !== undefined) return resolve(values.image)
  if (values['no-image']) return undefined
  const missing = missingPrograms()
  if (missing.length === 0) {
    say('image')
    const file = join(ROOT, 'dist/chancery-image.tar')
    await buildImage(file, seconds)
    return file
  }
  const reason = `the image needs ${missing.join(' and ')}`
  if (!isDryRun) throw new Error(`${reason}. Give --image FILE, or --no-image for a release without one`)
  say(`note: ${reason}. This dry run has no image`)
  return undefined
}

/** As a user of the release would do it: with the command, and a key from outside the folder. */
async function verifyOutside(signer: Signer): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'chancery-release-'))
  try {
    const key = join(work, 'project.pub')
    await writeFile(key, writePublicKeyFile(signer.publicKey, undefined))
    await stat(COMMAND.replace('bin/chancery.mjs', 'dist/main.js')).catch(() => buildTree(sourceDate()))
    say(`chancery verify ${folder} --key project.pub`)
    const { status } = spawnSync(process.execPath, [COMMAND, 'verify', folder, '--key', key], {
      stdio: 'inherit',
    })
    if (status !== 0) throw new Error(`${folder} does not verify`)
  } finally {
    await rm(work, { recursive: true })
  }
}

try {
  await main()
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
}
