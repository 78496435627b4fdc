import { join } from 'node:path'
import { changedTestFilters } from './changed-tests.ts'
import type { Command } from './run-command.ts'

export interface Step {
  readonly name: string
  readonly command: Command
  /** The command that a reader types to run the step again. */
  readonly repeat: string
  /** Two such steps run at a time. */
  readonly isPaired?: true
  /** The name of an earlier step whose files this one reads. */
  readonly after?: string
  /** The step prints `N passed, N failed` itself. */
  readonly isCounted?: true
  /** The file of the report that Vitest writes; its failed files run a second time. */
  readonly report?: string
  /** `check` fails when the step takes 20 % more (docs/project/tests.md). */
  readonly limitSeconds?: number
  /** A hanging step is ended after this time instead of 22 minutes. */
  readonly maxSeconds?: number
}

export interface Tier {
  readonly steps: readonly Step[]
  readonly limitSeconds?: number
}

const SOURCES = '--conditions=development'
const HOUR = 3600
// One more than there are cores: a test that waits for a database leaves its core to another.
const WORKERS = '--maxWorkers=3'
// These wait for processes and browsers: with three workers they used 1.2 of two cores.
const E2E_WORKERS = '--maxWorkers=4'

const STATIC_STEPS: readonly Step[] = [
  { name: 'format', command: ['oxfmt', '--check', '.'], repeat: 'npx oxfmt --check .   (fix: npm run format)' },
  {
    name: 'lint',
    command: ['oxlint', '--type-aware', '--deny-warnings'],
    repeat: 'npx oxlint --type-aware   (fix: add --fix)',
  },
  { name: 'types', command: ['tsc', '-b'], repeat: 'npx tsc -b' },
  { name: 'console', command: ['tsc', '-p', 'apps/console'], repeat: 'npx tsc -p apps/console' },
  {
    name: 'imports',
    command: ['node', 'tools/check/check-imports.ts'],
    repeat: 'npx node tools/check/check-imports.ts',
  },
  {
    name: 'test-files',
    command: ['node', 'tools/check/check-test-files.ts'],
    repeat: 'npx node tools/check/check-test-files.ts',
  },
  { name: 'words', command: ['node', 'tools/check/check-words.ts'], repeat: 'npx node tools/check/check-words.ts' },
  {
    name: 'sizes',
    command: ['node', 'tools/check/sizes.ts', '--check'],
    repeat: 'npm run sizes -- --check',
  },
  {
    name: 'generated',
    command: ['node', SOURCES, 'tools/generate/generate.ts', '--check'],
    repeat: 'npm run generate -- --check   (fix: npm run generate)',
    // It reads the declarations that the compiler writes.
    after: 'types',
  },
]

const DOCS_STEP: Step = {
  name: 'docs',
  command: ['node', 'tools/docs/docs.ts', 'build', 'check'],
  repeat: 'npm run docs:build && npm run docs:check',
}

const BROWSER_STEP: Step = {
  name: 'browser',
  command: ['node', SOURCES, 'tools/check/test-browser.ts'],
  repeat: 'npm run test:browser',
  isCounted: true,
}

const paired = (steps: readonly Step[]): readonly Step[] => steps.map((step) => ({ ...step, isPaired: true }))

/** Returns the steps of a tier. Vitest writes its reports into `folder`. */
export function stepsOf(name: string, folder: string): Tier | undefined {
  const vitest = (step: string, options: readonly string[], repeat: string): Step => {
    const report = join(folder, `${step}.json`)
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
    return { name: step, command: ['vitest', 'run', ...reporters, ...options], report, repeat }
  }
  if (name === 'quick') {
    const filters = changedTestFilters()
    const changed = ['--project=packages', '--project=sqlite', WORKERS, '--passWithNoTests', ...filters]
    const tests = vitest('tests', changed, `npx vitest run --project packages --project sqlite ${filters.join(' ')}`)
    return { limitSeconds: 60, steps: [...paired(STATIC_STEPS), ...(filters.length === 0 ? [] : [tests])] }
  }
  if (name === 'check') {
    const packages = ['--project=packages', '--project=sqlite', WORKERS]
    const e2e = ['--project=console', '--project=e2e', '--project=slow', '--project=token', E2E_WORKERS]
    return {
      limitSeconds: 900,
      steps: [
        // The longest one first: the others run meanwhile.
        ...paired([DOCS_STEP, ...STATIC_STEPS, BROWSER_STEP]),
        { ...vitest('tests', packages, 'npx vitest run <file>   (all: npm test)'), limitSeconds: 180 },
        {
          ...vitest('database', ['--project=postgres', WORKERS], 'npx vitest run --project postgres <file>'),
          limitSeconds: 180,
        },
        vitest('e2e', e2e, 'npx vitest run --project e2e --project slow --project console <file>'),
      ],
    }
  }
  return name === 'nightly' ? { steps: nightlySteps(vitest) } : undefined
}

function imageTry(options: readonly string[]): Command {
  return ['node', SOURCES, 'tools/release/image/try.ts', ...options]
}

function nightlySteps(vitest: (step: string, options: readonly string[], repeat: string) => Step): readonly Step[] {
  const script = (name: string, command: Command, repeat: string, hours: number): Step => ({
    name,
    command,
    repeat,
    maxSeconds: hours * HOUR,
  })
  return [
    {
      ...vitest(
        'postgres',
        ['--project=postgres-nightly', WORKERS],
        'npx vitest run --project postgres-nightly <file>',
      ),
      maxSeconds: HOUR,
    },
    {
      ...vitest('nightly', ['--project=nightly', '--maxWorkers=2'], 'npx vitest run --project nightly <file>'),
      maxSeconds: 2 * HOUR,
    },
    script(
      'screens',
      ['env', 'CHANCERY_ALL_SCREENS=on', 'vitest', 'run', '--project=console'],
      'CHANCERY_ALL_SCREENS=on npx vitest run --project console',
      1,
    ),
    script(
      'campaigns',
      ['node', SOURCES, 'tests/campaigns/run.ts', '--all'],
      'npm run campaign -- NAME --seed SEED',
      24,
    ),
    script('benches', ['node', SOURCES, 'bench/run.ts', '--all'], 'npm run bench -- NAME', 4),
    script('helm', ['node', SOURCES, 'tools/release/helm/check.ts'], 'npm run helm:check', 1),
    script('image', ['node', 'tools/release/image/build.ts'], 'npm run image', 1),
    script('image-try', imageTry([]), 'npm run image:try', 1),
    script('image-arm64', imageTry(['--architecture', 'arm64']), 'npm run image:try -- --architecture arm64', 1),
  ]
}
