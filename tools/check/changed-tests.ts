import { execFileSync } from 'node:child_process'
import { ROOT } from './run-command.ts'

/** Returns Vitest filters for the tests of what changed since `main`, uncommitted files included. */
export function changedTestFilters(): readonly string[] {
  return toFilters(changedFiles())
}

function changedFiles(): readonly string[] {
  const git = (...args: string[]): string[] =>
    execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).split('\n').filter(Boolean)
  return [...git('diff', '--name-only', mergeBase()), ...git('ls-files', '--others', '--exclude-standard')]
}

/** Returns where this branch left `main`; a clone of one branch has `origin/main` only, or neither. */
function mergeBase(): string {
  for (const branch of ['main', 'origin/main']) {
    try {
      const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore']
      return execFileSync('git', ['merge-base', 'HEAD', branch], { cwd: ROOT, encoding: 'utf8', stdio }).trim()
    } catch {
      // The next name is tried.
    }
  }
  return 'HEAD'
}

/**
 * Returns whole packages, but of an app only the changed folders: all authority tests take minutes. A loose file of an
 * app gives the tests with its name.
 */
export function toFilters(files: readonly string[]): readonly string[] {
  const filters = files.flatMap((file) => {
    const [top, name, , first, second] = file.split('/')
    if (top === 'tools' && file.endsWith('.ts')) return ['tools/']
    if (top === 'packages' && file.endsWith('.ts')) return [`packages/${name}/`]
    if (top !== 'apps' || name === 'console' || first === undefined || !file.endsWith('.ts')) return []
    if (second === undefined) return [file.replace(/(?:\.\w+)?\.ts$/, '.')]
    const isFeature = first === 'features' || first === 'commands'
    return [`apps/${name}/src/${first}/${isFeature && file.split('/').length > 5 ? `${second}/` : ''}`]
  })
  return [...new Set(filters)].sort()
}
