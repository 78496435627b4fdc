import { SECOND } from '@chancery/protocol'
import { PROBLEMS } from './judge.ts'
import type { Look, Sight } from './look.ts'

/** The last look as Prometheus text, for the textfile collector of the node exporter. */
export function metricsText({ at, crl, feed }: Look): string {
  const lists = [
    ['crl', crl],
    ['feed', feed],
  ] as const
  const rows = (read: (sight: Sight) => number | undefined): string[] =>
    lists.flatMap(([name, sight]) => {
      const value = read(sight)
      return value === undefined ? [] : [`{document="${name}"} ${value}`]
    })
  const problems = lists.flatMap(([name, sight]) =>
    PROBLEMS.map((problem) => `{document="${name}",problem="${problem}"} ${sight.problems.includes(problem) ? 1 : 0}`),
  )
  return [
    ...metric('chancery_watch_problem', 'Whether this is wrong with a published document.', problems),
    ...metric(
      'chancery_watch_sequence',
      'Number of the published document.',
      rows((sight) => sight.sequence),
    ),
    ...metric(
      'chancery_watch_age_seconds',
      'Time since it was signed.',
      rows((sight) => sight.ageSeconds),
    ),
    ...metric(
      'chancery_watch_expires_in_seconds',
      'Time until it ends.',
      rows((sight) => sight.expiresInSeconds),
    ),
    ...metric('chancery_watch_last_look_timestamp_seconds', 'When it was last looked at.', [` ${Number(at / SECOND)}`]),
    '',
  ].join('\n')
}

function metric(name: string, help: string, rows: readonly string[]): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} gauge`, ...rows.map((row) => name + row)]
}
