import type { NetworkFinding } from '@chancery/sdk/authority'
import type { JSX } from 'preact'
import { Command } from '../../parts/command.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Facts } from '../../parts/facts.tsx'
import { State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'

/** How a finding ends that the console cannot end: what to do on the machine of the authority. */
export function HowDrawer(props: {
  readonly check: string
  /** Undefined when the check finds no problem any more. */
  readonly finding: NetworkFinding | undefined
  readonly onClose: () => void
}): JSX.Element {
  const { check, finding, onClose } = props
  if (finding === undefined)
    return (
      <Drawer name="how" title="No problem" isReading onClose={onClose}>
        <p>
          <State shape="tick" tone="good" word={`The check ${check} finds no problem.`} />
        </p>
      </Drawer>
    )
  const command = /chancery [^:;.]+/.exec(finding.fix)?.[0].trim()
  return (
    <Drawer
      name="how"
      title={finding.found}
      {...(finding.effect === null ? {} : { sentence: finding.effect })}
      isReading
      onClose={onClose}
    >
      <p>{finding.fix}</p>
      {command === undefined ? null : <Command text={command} />}
      <Facts
        of={[
          ['Check', <code class="mono">{check}</code>],
          ...(finding.at === null ? [] : [['Time', <Time at={finding.at} both />] as const]),
          ['Same report', <code class="mono">chancery doctor --remote</code>],
        ]}
      />
      <p class="quiet">This page checks again every 15 seconds. The finding leaves the overview when it is fixed.</p>
    </Drawer>
  )
}
