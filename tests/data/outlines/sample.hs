{-# LANGUAGE PatternSynonyms #-}
module Shop.Cart where

-- | A cart.
data Cart a = Empty | Full { items :: Int, owner :: a } deriving Show
newtype Count = Count { unCount :: Int }
type Id = Int
type family Elem c
class Shape a where
  area :: a -> Int
  width, height :: a -> Int
instance Shape Int where
  area x = x
  zero = 0
pattern Zero :: Int
pattern Zero = 0

-- | Adds.
add :: Int -> Int
add 0 = 1
add n = n where local = 1
größe' = 1
(<+>) :: Int -> Int -> Int
a <+> b = a
