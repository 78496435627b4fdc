import { execFileSync } from 'node:child_process'
import { chmod, cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { globSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listsOf } from '../../../apps/cli/src/commands/release/check-release.ts'
import { LOCK_FILE } from '../../../apps/cli/src/commands/release/release-files.ts'
import { fetchLocked } from '../fetch-package.ts'
import { PLATFORMS } from '../image/platforms.ts'
import { buildOneFile } from '../one-file/build.ts'
import { packAll } from '../pack.ts'
import { makeLists } from '../sbom.ts'
import { packFolder } from '../tar.ts'
import { sectionOf } from '../version/changelog.ts'

const ROOT = join(import.meta.dirname, '../../..')

/** Deletes earlier builds and builds again: a file whose source is gone must not be in a release. */
export async function buildTree(seconds: number): Promise<void> {
  const stale = globSync(['{apps,packages}/*/dist', '{apps,packages}/*/*.tsbuildinfo'], { cwd: ROOT })
  for (const name of stale) await rm(join(ROOT, name), { recursive: true })
  execFileSync('npm', ['run', '--silent', 'build'], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, SOURCE_DATE_EPOCH: String(seconds) },
  })
}

export interface ArtifactOptions {
  readonly version: string
  readonly seconds: number
  /** The OCI archive of the image. */
  readonly image: string | undefined
  readonly say: (line: string) => void
}

/** Writes everything that a release publishes and that is not about other files. Needs {@link buildTree}. */
export async function makeArtifacts(folder: string, { version, seconds, image, say }: ArtifactOptions): Promise<void> {
  say('packages')
  await packAll(folder, seconds)
  say('single files')
  await makePrograms(folder, version)
  say('chart, lists of contents, notes')
  // Another prefix than the packages: these are sent to npm by their names.
  packFolder(join(ROOT, 'deploy/helm/chancery'), join(folder, `helm-chancery-${version}.tgz`), seconds)
  const [names, lists] = [listsOf(version), makeLists(seconds)]
  await writeFile(join(folder, names.cycloneDx), asText(lists.cycloneDx))
  await writeFile(join(folder, names.spdx), asText(lists.spdx))
  await cp(join(ROOT, LOCK_FILE), join(folder, LOCK_FILE))
  await writeFile(join(folder, 'RELEASE-NOTES.md'), await notesOf(version))
  if (image !== undefined) await cp(image, join(folder, `chancery-image-${version}.tar`))
}

/** The command as a single file for each platform of the services, with the Node.js of the lock file. */
async function makePrograms(folder: string, version: string): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'chancery-nodes-'))
  try {
    const targets = PLATFORMS.map(({ prebuild, node }) => {
      fetchLocked(node, join(work, node))
      return { output: join(folder, `chancery-${version}-${prebuild}`), node: join(work, node, 'bin/node') }
    })
    await buildOneFile(...targets)
    for (const { output } of targets) await chmod(output, 0o755)
  } finally {
    await rm(work, { recursive: true })
  }
}

async function notesOf(version: string): Promise<string> {
  const notes = sectionOf(await readFile(join(ROOT, 'CHANGELOG.md'), 'utf8'), version)
  if (notes === undefined)
    throw new Error(`CHANGELOG.md has no section ${version}: npm run release:version -- ${version}`)
  return `# Chancery ${version}\n\n${notes.trim()}\n`
}

function asText(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`
}
