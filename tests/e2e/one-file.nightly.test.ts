import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { buildOneFile } from '../../tools/release/one-file/build.ts'
import { programIn, tryAuthority, tryCommands } from '../../tools/release/try-install.ts'

const ROOT = join(import.meta.dirname, '../..')

// `npm run one-file:try` does more: a filled network and the threads of `verify`.
it.runIf(existsSync(join(ROOT, 'apps/cli/dist/main.js')))(
  'one file is the whole command, also where there is no Node.js',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'chancery-one-file-'))
    const program = join(folder, 'chancery')
    const said: string[] = []
    const installed = programIn(folder, program, { PATH: '/nonexistent' }, (line) => said.push(line))
    try {
      await buildOneFile({ output: program })
      const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string }
      await tryCommands(installed, version)
      await tryAuthority(installed)
      expect(said).toHaveLength(7)
    } finally {
      await rm(folder, { recursive: true })
    }
  },
  180_000,
)
