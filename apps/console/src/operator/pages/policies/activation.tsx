import type { JSX } from 'preact'
import { Drawer } from '../../parts/drawer.tsx'
import { navigate, withQuery } from '../../router.ts'
import { Acts } from '../../signing/review.tsx'
import type { Act } from '../../signing/act.ts'
import { REPLAYED, type Replay } from './replay.ts'

/** Opens the drawer of an activation after the replay, so that its effect is shown before anything can be signed. */
export function ReplayedAct(props: {
  readonly title: string
  readonly replay: Replay | undefined
  readonly act: (replay: Replay) => Act
  readonly query: URLSearchParams
}): JSX.Element {
  if (props.replay !== undefined) return <Acts of={[props.act(props.replay)]} query={props.query} />
  return (
    <Drawer
      title={props.title}
      sentence={`The newest ${REPLAYED.toLocaleString('en')} decisions are being replayed.`}
      name="replaying"
      onClose={() => navigate(withQuery({ do: undefined }))}
    >
      <div aria-busy="true">
        <span class="bone" />
      </div>
    </Drawer>
  )
}
