import { visible } from '@chancery/protocol'
import { options } from 'preact'

/**
 * Every text the script puts into a page passes here: controls and marks that hide or reorder what stands around them
 * are shown as escapes. Imported for this effect, before anything is drawn.
 */
options.vnode = (vnode) => {
  // A text is a node without a type, whose properties are the text itself.
  const drawn = vnode as { type: unknown; props: unknown }
  if (drawn.type === null && typeof drawn.props === 'string')
    drawn.props = visible(drawn.props, { keepLineBreaks: true })
}
