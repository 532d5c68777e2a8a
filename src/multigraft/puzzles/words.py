"""Common English words that the puzzles are made of: distinct, in small letters."""

_NOUNS = """
anchor apple arrow autumn badge balloon banana basket beach bell bench berry bird blanket boat book bottle bowl box branch bread brick bridge broom brush
bucket butter button cabin cactus cake camel camera candle canoe carpet carrot castle chair cherry clock cloud coat coffee coin comet cookie copper corner
cotton cradle crayon crow crown cup curtain daisy desert desk dinner dolphin door dragon drum duck eagle ear elbow engine falcon farmer feather fence field
finger fire flag flower forest fork fossil fountain fox frog garden gate ginger glass glove goat guitar hammer harbor hat hill honey horse house island ivory
jacket jar jelly jewel kettle key king kitchen kite ladder lake lamp lantern leaf lemon letter lion lizard lobster magnet map market meadow melon mirror
monkey moon mountain mouse museum nail needle nest net nickel notebook oak ocean olive onion orange orchard otter owl paddle palace panda paper park peach
pearl pencil penguin pepper piano picture pigeon pillow pine planet plate pocket pond potato puzzle queen quilt rabbit radio rain ribbon rice river road robin
robot rocket roof rope rose saddle sailor salad salmon sand scarf school shadow sheep shell ship shoe silver snail snow soap sofa spider spoon squirrel stamp
star statue stone storm stove sugar summer swan table tailor teapot temple tent thread thunder tiger tomato tower train tree trumpet tulip tunnel turtle
umbrella valley vase velvet village violin wagon wall walnut water whale wheat wheel whistle willow window winter wolf wood yarn zebra
"""
_NAMES = """
Ada Ben Carl Dora Emma Finn Gina Hugo Iris Jack Kate Leo Mia Noah Olga Paul Rosa Sam Tina Vera
"""
_THINGS = """
apples beads books buttons cards coins cookies eggs marbles nuts pencils plums shells stamps stickers stones tickets tulips
"""

NOUNS: tuple[str, ...] = tuple(_NOUNS.split())
NAMES: tuple[str, ...] = tuple(_NAMES.split())
THINGS: tuple[str, ...] = tuple(_THINGS.split())
"""What people count; always as many."""
